//! What the chunks themselves say is missing among their events.

use heapscribe_wire::head::DROP_COUNTERS;
use heapscribe_wire::record::Event;
use rayon::prelude::*;

use crate::input::{ChunkFacts, History};

/// How many events of each process are missing in its chunks, by the number of a `heapscribe_wire::head::LossReason`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LostInChunks(Vec<[u64; DROP_COUNTERS]>);

impl LostInChunks {
    /// None, of so many processes.
    pub fn new(processes: usize) -> LostInChunks {
        LostInChunks(vec![[0; DROP_COUNTERS]; processes])
    }

    /// Counts events of a process.
    pub fn add(&mut self, process: usize, reason: u8, count: u64) {
        if let Some(counters) = self.0.get_mut(process) {
            let counter = &mut counters[usize::from(reason).min(DROP_COUNTERS - 1)];
            *counter = counter.saturating_add(count);
        }
    }

    /// Those of a process.
    pub fn of(&self, process: usize) -> [u64; DROP_COUNTERS] {
        self.0.get(process).copied().unwrap_or([0; DROP_COUNTERS])
    }

    /// Process, reason and count of all that there are.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u8, u64)> {
        let of_process = |(process, counters): (usize, &[u64; DROP_COUNTERS])| {
            let counters = counters.iter().enumerate().map(|(reason, count)| (reason as u8, *count));
            let some = counters.filter(|(_, count)| *count != 0);
            some.map(|(reason, count)| (process, reason, count)).collect::<Vec<_>>()
        };
        self.0.iter().enumerate().flat_map(of_process)
    }
}

/// What is missing, in a pass over all events.
pub fn lost_in_chunks<H: History>(history: &H) -> LostInChunks {
    let of_chunk = |scratch: &mut H::Scratch, (number, facts): (usize, ChunkFacts)| {
        let Ok(events) = history.events(number, scratch) else { return Vec::new() };
        let lost = |item| match item {
            Ok((_, Event::Lost { count, reason })) => Some((facts.process, reason, count)),
            _ => None,
        };
        events.filter_map(lost).collect()
    };
    let chunks: Vec<(usize, ChunkFacts)> = history.chunks().into_iter().enumerate().collect();
    let all: Vec<_> = chunks.into_par_iter().map_init(H::Scratch::default, of_chunk).flatten_iter().collect();
    let mut lost = LostInChunks::new(history.processes().len());
    all.into_iter().for_each(|(process, reason, count)| lost.add(process, reason, count));
    lost
}
