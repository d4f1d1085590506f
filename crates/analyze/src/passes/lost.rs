//! What is missing among the events of chunks: what these say themselves, and what cannot be read of them.

use heapscribe_wire::head::{DROP_COUNTERS, LossReason};
use heapscribe_wire::record::Event;
use rayon::prelude::*;

use crate::input::{ChunkFacts, History};

/// How many events of each process are missing in its chunks, by the number of a `heapscribe_wire::head::LossReason`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LostInChunks {
    by_process: Vec<[u64; DROP_COUNTERS]>,
    /// Chunks that cannot be read, or not to their end, in order.
    damaged: Vec<usize>,
}

impl LostInChunks {
    /// None, of so many processes.
    pub fn new(processes: usize) -> LostInChunks {
        LostInChunks { by_process: vec![[0; DROP_COUNTERS]; processes], damaged: Vec::new() }
    }

    /// Counts events of a process.
    pub fn add(&mut self, process: usize, reason: u8, count: u64) {
        if let Some(counters) = self.by_process.get_mut(process) {
            let counter = &mut counters[usize::from(reason).min(DROP_COUNTERS - 1)];
            *counter = counter.saturating_add(count);
        }
    }

    /// Notes a chunk that cannot be read, or not to its end; its events are counted by [`Self::add`].
    pub fn add_damaged(&mut self, chunk: usize) {
        if let Err(at) = self.damaged.binary_search(&chunk) {
            self.damaged.insert(at, chunk);
        }
    }

    /// Those of a process.
    pub fn of(&self, process: usize) -> [u64; DROP_COUNTERS] {
        self.by_process.get(process).copied().unwrap_or([0; DROP_COUNTERS])
    }

    /// Chunks that cannot be read, or not to their end.
    pub fn damaged(&self) -> &[usize] {
        &self.damaged
    }

    /// Process, reason and count of all that there are.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u8, u64)> {
        let of_process = |(process, counters): (usize, &[u64; DROP_COUNTERS])| {
            let counters = counters.iter().enumerate().map(|(reason, count)| (reason as u8, *count));
            let some = counters.filter(|(_, count)| *count != 0);
            some.map(|(reason, count)| (process, reason, count)).collect::<Vec<_>>()
        };
        self.by_process.iter().enumerate().flat_map(of_process)
    }
}

/// What is wrong with a chunk, and how many of its events are missing for that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChunkDamage {
    /// In words.
    pub what: String,
    /// Events, at least one.
    pub events: u64,
}

/// What is wrong with a chunk, if anything is.
pub fn chunk_damage<H: History>(
    history: &H,
    number: usize,
    facts: &ChunkFacts,
    scratch: &mut H::Scratch,
) -> Option<ChunkDamage> {
    let mut read = 0;
    let what = match history.events(number, scratch) {
        Err(what) => what,
        Ok(events) => {
            let bad = events.map(|event| event.inspect(|_| read += 1)).find_map(Result::err)?;
            format!("chunk {number}: {bad}; the rest of it is left out")
        }
    };
    Some(ChunkDamage { what, events: facts.events.saturating_sub(read).max(1) })
}

/// What a pass over a chunk finds missing: process, reason and count, and the chunk itself where it is damaged.
type Missing = (usize, u8, u64, Option<usize>);

/// What is missing, in a pass over all events.
pub fn lost_in_chunks<H: History>(history: &H) -> LostInChunks {
    let of_chunk = |scratch: &mut H::Scratch, (number, facts): (usize, ChunkFacts)| {
        let (mut all, mut is_damaged): (Vec<Missing>, bool) = (Vec::new(), false);
        match history.events(number, scratch) {
            Ok(events) => events.for_each(|event| match event {
                Ok((_, Event::Lost { count, reason })) => all.push((facts.process, reason, count, None)),
                Ok(_) => {}
                Err(_) => is_damaged = true,
            }),
            Err(_) => is_damaged = true,
        }
        let damage = if is_damaged { chunk_damage(history, number, &facts, scratch) } else { None };
        let reason = LossReason::Damaged as u8;
        all.extend(damage.map(|damage| (facts.process, reason, damage.events, Some(number))));
        all
    };
    let chunks: Vec<(usize, ChunkFacts)> = history.chunks().into_iter().enumerate().collect();
    let all: Vec<_> = chunks.into_par_iter().map_init(H::Scratch::default, of_chunk).flatten_iter().collect();
    let mut lost = LostInChunks::new(history.processes().len());
    for (process, reason, count, damaged) in all {
        lost.add(process, reason, count);
        damaged.into_iter().for_each(|chunk| lost.add_damaged(chunk));
    }
    lost
}
