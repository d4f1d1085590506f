//! What did not get into a trace that cannot be written any further (a full disk, a limit): events are counted, by
//! process, while processes and how they ended are retained. They are so small that there is room for them where a few of
//! the last events were, so that the trace is whole but for the events that it says are missing.

use std::collections::BTreeMap;

use heapscribe_formats::model::{ProcessEnd, ProcessIndex, SessionEnd};
use heapscribe_formats::native::block::Kind;
use heapscribe_formats::native::splice::Pieces;
use heapscribe_formats::{ChunkSums, Writer};
use heapscribe_wire::head::LossReason;

/// Sums over events that are not in the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct UnwrittenSums {
    pub(crate) events: u64,
    pub(crate) calls: u64,
    pub(crate) allocations: u64,
    pub(crate) allocated_bytes: u64,
}

/// What is not in the trace.
#[derive(Debug, Default)]
pub(crate) struct Unwritten {
    events: BTreeMap<ProcessIndex, u64>,
    sums: UnwrittenSums,
    /// Processes, and sums over events that a ring evicted: blocks as they are stored, in the order of the trace.
    blocks: Vec<u8>,
    ends: BTreeMap<ProcessIndex, ProcessEnd>,
}

impl Unwritten {
    /// Counts a chunk.
    pub(crate) fn chunk(&mut self, process: ProcessIndex, chunk: &ChunkSums) {
        let sums = &mut self.sums;
        sums.events += u64::from(chunk.events);
        sums.calls += chunk.heap_calls();
        sums.allocations +=
            [chunk.allocs, chunk.reallocs, chunk.unknown_reallocs].map(u64::from).iter().sum::<u64>();
        sums.allocated_bytes = sums.allocated_bytes.saturating_add(chunk.alloc_bytes);
        *self.events.entry(process).or_default() += u64::from(chunk.events);
    }

    /// Takes blocks that come after those that were taken.
    pub(crate) fn take(&mut self, row: &[u8]) {
        let blocks = self.retained(row);
        self.blocks.extend(blocks);
    }

    /// Takes blocks that are removed from the trace, which come before those that were taken.
    pub(crate) fn take_back(&mut self, row: &[u8]) {
        let blocks = self.retained(row);
        self.blocks.splice(..0, blocks);
    }

    /// Counts the events of a row of blocks, and gives what of it is to be in the trace, but for ends.
    fn retained(&mut self, row: &[u8]) -> Vec<u8> {
        let (mut blocks, mut pieces) = (Vec::new(), Pieces::new(row, 0));
        let mut begin = 0;
        // Behind the blocks may be a footer.
        while let Ok(Some(piece)) = pieces.next_piece() {
            let process = ProcessIndex(piece.process);
            match (piece.kind, &piece.chunk, &piece.end) {
                (_, Some((_, sums)), _) => self.chunk(process, sums),
                (_, _, Some(end)) => drop(self.ends.entry(process).or_insert_with(|| end.clone())),
                (Kind::Process | Kind::Evicted, ..) => {
                    blocks.extend_from_slice(&row[begin..][..piece.file_bytes() as usize])
                }
                _ => {}
            }
            begin = pieces.offset() as usize;
        }
        blocks
    }

    /// Events of a process that are missing so far.
    pub(crate) fn events(&self, process: ProcessIndex) -> u64 {
        self.events.get(&process).copied().unwrap_or(0)
    }

    /// Of all processes.
    pub(crate) fn sums(&self) -> UnwrittenSums {
        self.sums
    }

    /// The blocks as they are stored.
    pub(crate) fn blocks(&self) -> &[u8] {
        &self.blocks
    }

    /// Writes how processes and the recording ended.
    pub(crate) fn ends(&self, writer: &mut Writer, end: &SessionEnd, out: &mut Vec<u8>) {
        for (process, of_process) in &self.ends {
            let mut of_process = of_process.clone();
            of_process.drops[LossReason::NotWritten as usize] = self.events(*process);
            writer.process_end(*process, &of_process, out);
        }
        writer.session_end(end, out);
    }
}
