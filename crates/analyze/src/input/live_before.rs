//! Blocks that were live before the first event of a process that is kept: each was allocated by an event that is
//! not there any more, which is made up for it, by its thread at its birth. With these in front, frees
//! find what they free, and what is live at any moment is what was.

use std::collections::BTreeMap;

use heapscribe_formats::{LiveBlock, LiveRole, Scratch, Source, Trace};
use heapscribe_wire::ids::{RateId, ThreadId};
use heapscribe_wire::record::{Call, Event};

use super::facts::ChunkFacts;

/// The blocks of one thread, in the order of their births.
#[derive(Debug, Default)]
pub(crate) struct LiveBefore {
    process: usize,
    thread: ThreadId,
    blocks: Vec<LiveBlock>,
}

/// What was live before the events of a trace, and what of it can not be read.
pub(crate) fn read<S: Source>(trace: &Trace<S>) -> (Vec<LiveBefore>, Vec<String>) {
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    for (process, of) in trace.processes().iter().enumerate() {
        for table in of.live.iter().filter(|table| table.role == LiveRole::Before) {
            let mut threads: BTreeMap<ThreadId, Vec<LiveBlock>> = BTreeMap::new();
            let read = trace.blocks(of.index, table, &mut Scratch::default(), |block| {
                threads.entry(block.thread).or_default().push(*block);
            });
            match read {
                Ok(skipped) => problems.extend(skipped.iter().map(ToString::to_string)),
                Err(e) => problems.push(e.to_string()),
            }
            all.extend(threads.into_iter().map(|(thread, mut blocks)| {
                blocks.sort_by_key(|block| block.birth_ticks);
                LiveBefore { process, thread, blocks }
            }));
        }
    }
    (all, problems)
}

impl LiveBefore {
    /// As a chunk of events.
    pub(crate) fn chunk(&self) -> ChunkFacts {
        let ticks = |block: Option<&LiveBlock>| block.map_or(0, |block| block.birth_ticks);
        ChunkFacts {
            process: self.process,
            thread: self.thread.0,
            begin_ticks: ticks(self.blocks.first()),
            last_ticks: ticks(self.blocks.last()),
            last_alloc_ticks: 0,
            events: self.blocks.len() as u64,
            is_made_up: true,
        }
    }

    /// The events: each with the ticks since the one before it, and rates where they change.
    pub(crate) fn events(&self) -> impl Iterator<Item = (u64, Event)> {
        let (mut ticks, mut rate) = (self.chunk().begin_ticks, RateId::FULL);
        self.blocks.iter().flat_map(move |block| {
            let dt = block.birth_ticks - ticks;
            let changed = (block.rate != rate).then_some((0, Event::Rate { rate: block.rate }));
            (ticks, rate) = (block.birth_ticks, block.rate);
            let (size_bytes, stack) = (block.size_bytes, block.stack);
            let born = Event::Alloc { call: Call::Malloc, size_bytes, stack, align_log2: 0 };
            changed.into_iter().chain([(dt, born)])
        })
    }
}
