//! Marks and ends of sections of all chunks, until they are written.

use std::collections::BTreeMap;

use heapscribe_analyze::input::{ChunkFacts, Clock, History};
use heapscribe_analyze::moments::{NoteKind, NoteMoment, names};
use heapscribe_wire::ids::NameId;

/// One in a chunk, at these ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalNote {
    pub(super) name: NameId,
    pub(super) ticks: u64,
    pub(super) kind: NoteKind,
}

/// What else a chunk has.
#[derive(Debug, Default)]
pub(super) struct ChunkNotes {
    pub(super) notes: Vec<LocalNote>,
    /// Events that are missing in it, with their reason.
    pub(super) lost: Vec<(u8, u64)>,
}

/// Those of all chunks.
#[derive(Debug)]
pub(super) struct Notes {
    all: Vec<(NameId, NoteMoment)>,
    max: usize,
    /// Whether there were more.
    is_full: bool,
}

impl Notes {
    /// None yet; at most so many.
    pub(super) fn new(max: usize) -> Notes {
        Notes { all: Vec::new(), max, is_full: false }
    }

    /// Adds those of a chunk.
    pub(super) fn add(&mut self, facts: &ChunkFacts, clock: &Clock, notes: &[LocalNote]) {
        self.is_full |= notes.len() > self.max - self.all.len();
        if self.is_full {
            self.all = Vec::new();
            return;
        }
        let ChunkFacts { process, thread, .. } = *facts;
        let moment =
            |note: &LocalNote| NoteMoment { ns: clock.ns(note.ticks), process, thread, kind: note.kind };
        self.all.extend(notes.iter().map(|note| (note.name, moment(note))));
    }

    /// Those of each name, by time, whatever the number of a name is in a process; nothing if there were too many.
    pub(super) fn by_name<H: History>(self, history: &H) -> Option<BTreeMap<Vec<u8>, Vec<NoteMoment>>> {
        let mut of_processes = BTreeMap::<usize, BTreeMap<u32, Vec<u8>>>::new();
        let mut by_name = BTreeMap::<Vec<u8>, Vec<NoteMoment>>::new();
        for (id, moment) in self.all {
            let of_process = || names(history, moment.process);
            let Some(name) = of_processes.entry(moment.process).or_insert_with(of_process).get(&id.0) else {
                continue;
            };
            match by_name.get_mut(name) {
                Some(moments) => moments.push(moment),
                None => drop(by_name.insert(name.clone(), vec![moment])),
            }
        }
        by_name.values_mut().for_each(|moments| moments.sort_unstable());
        (!self.is_full).then_some(by_name)
    }
}
