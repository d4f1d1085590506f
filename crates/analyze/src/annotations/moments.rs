//! When marks were set, and when sections began and ended, one by one.

use std::collections::{BTreeMap, BTreeSet};

use heapscribe_wire::definitions::Definition;
use heapscribe_wire::record::{Event, Note};
use rayon::prelude::*;

use crate::input::{ChunkFacts, History};

/// What a program said of itself at a moment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NoteKind {
    /// A mark.
    Mark,
    /// A section began.
    Begin,
    /// One ended.
    End,
}

impl NoteKind {
    /// What a note is; none of one that only repeats what is open.
    pub const fn of(note: Note) -> Option<NoteKind> {
        match note {
            Note::Mark => Some(NoteKind::Mark),
            Note::Begin => Some(NoteKind::Begin),
            Note::End => Some(NoteKind::End),
            Note::GoesOn { .. } => None,
        }
    }
}

/// A mark, or an end of a section.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NoteMoment {
    /// When, CLOCK_MONOTONIC ns.
    pub ns: u64,
    /// Index of the process.
    pub process: usize,
    /// The thread.
    pub thread: u32,
    /// What it is.
    pub kind: NoteKind,
}

/// The names that the notes of a process have, by number. What cannot be read is reported where definitions are read
/// for good.
pub fn names<H: History>(history: &H, process: usize) -> BTreeMap<u32, Vec<u8>> {
    let mut names = BTreeMap::new();
    let _ = history.definitions(process, &mut |_, definition| {
        if let Definition::Name { id, name } = definition {
            names.insert(id.0, name.to_vec());
        }
    });
    names
}

/// All of this name, by time, in a pass over the events.
pub fn of_name<H: History>(history: &H, name: &[u8]) -> Vec<NoteMoment> {
    let processes = history.processes();
    let numbers = |process: usize| {
        let wanted = names(history, process).into_iter().filter(|(_, of)| of == name);
        wanted.map(|(number, _)| number).collect()
    };
    let wanted: Vec<BTreeSet<u32>> = (0..processes.len()).map(numbers).collect();
    let of_chunk = |scratch: &mut H::Scratch, (number, facts): (usize, ChunkFacts)| {
        let mut found = Vec::new();
        let Some(process) = processes.get(facts.process) else { return found };
        let Ok(events) = history.events(number, scratch) else { return found };
        let mut ticks = facts.begin_ticks;
        for (dt, event) in events.map_while(Result::ok) {
            ticks = ticks.wrapping_add(dt);
            if let Event::Note { note, name } = event
                && let Some(kind) = NoteKind::of(note)
                && wanted[facts.process].contains(&name.0)
            {
                let ns = process.clock.ns(ticks);
                found.push(NoteMoment { ns, process: facts.process, thread: facts.thread, kind });
            }
        }
        found
    };
    let chunks: Vec<(usize, ChunkFacts)> = history.chunks().into_iter().enumerate().collect();
    let mut found: Vec<_> =
        chunks.into_par_iter().map_init(H::Scratch::default, of_chunk).flatten_iter().collect();
    found.sort_unstable();
    found
}
