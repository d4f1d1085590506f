//! What the heap under a recorded process tells of itself, sampled beside its memory.

use std::path::Path;

use heapscribe_trace::model::{HeapInfo, HeapSample, HowEnded, ProcessIndex};

use super::output::Output;
use crate::heaps::{self, Told, Watched};

/// How often the file is looked for: a heap that tells of itself has it from the process's first call on.
const TRIES: u32 = 5;

/// The heap of a session's process.
#[derive(Debug, Default)]
pub(super) struct Heap {
    watched: Option<Watched>,
    tries: u32,
    samples: Vec<HeapSample>,
}

impl Heap {
    /// Looks whether there is anything new. `whose`: the directory, the process and when its recording began.
    pub(super) fn sample(&mut self, (directory, pid, created_mono_ns): (&Path, u32, u64)) {
        if self.watched.is_none() && self.tries < TRIES {
            self.tries += 1;
            let path = heaps::nearest(directory, pid, created_mono_ns);
            self.watched = path.and_then(|path| Watched::open(&path)).filter(|found| !found.told.is_passing);
            let first = self.watched.as_ref().map(|found| found.told.update);
            self.samples.extend(first.and_then(|update| sample_of(&update)));
        } else if let Some(watched) = &mut self.watched {
            let update = watched.look();
            self.samples.extend(update.and_then(|update| sample_of(&update)));
        }
    }

    /// How many samples wait.
    pub(super) fn waiting(&self) -> usize {
        self.samples.len()
    }

    /// Writes what waits.
    pub(super) fn write(&mut self, process: ProcessIndex, output: &mut Output) {
        let Some(watched) = &self.watched else { return };
        let (name, configuration) = (watched.told.name.clone(), watched.told.configuration.clone());
        output.heap(process, &HeapInfo { name, configuration }, &std::mem::take(&mut self.samples));
    }

    /// What it said last; the file of a process that is gone goes.
    pub(super) fn end(self, how: HowEnded) -> Option<Told> {
        let told = self.watched?.told;
        if how != HowEnded::Abandoned {
            let _ = std::fs::remove_file(&told.path);
        }
        Some(told)
    }
}

fn sample_of(update: &heapscribe_wire::heap::Update) -> Option<HeapSample> {
    (update.mono_ns > 0).then_some(HeapSample { mono_ns: update.mono_ns, counts: update.counts })
}
