//! What is missing of a recording: what a ring evicted, what a recorder lost; and what it has in its place.

use heapscribe_analyze::input::{ChunkFacts, TableMoment};
use heapscribe_formats::{ChunkInfo, ChunkSums, LiveBlock};
use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::ThreadId;

use super::{BEGIN_NS, BEGIN_TICKS, Recorded};

/// From the last event to the table of what is live.
pub const TABLE_AFTER_US: u64 = 10;

impl Recorded {
    /// Evicts the chunks that were finished first, as a ring does.
    pub fn evict(&mut self, chunks: usize) {
        self.chunks.sort_by_key(|(facts, _)| facts.last_ticks);
        for (facts, payload) in self.chunks.drain(..chunks.min(self.chunks.len())) {
            let info = ChunkInfo { begin_ticks: facts.begin_ticks, ..ChunkInfo::default() };
            let process = &mut self.processes[facts.process].facts;
            let ended_ns = process.clock.ns(facts.last_ticks);
            process.evicted.chunk(&ChunkSums::of(&info, &payload), ended_ns);
            self.evicted.until_mono_ns = self.evicted.until_mono_ns.max(ended_ns);
        }
    }

    /// When the first moment is of which all events are there.
    pub(super) fn window_ns(&self) -> u64 {
        match self.evicted.until_mono_ns {
            0 => 0,
            until_ns => until_ns + 1,
        }
    }

    /// The us after which all events are there.
    pub fn window_us(&self) -> u64 {
        self.evicted.until_mono_ns.saturating_sub(BEGIN_NS) / 1000
    }

    /// The recorder of a process counts a loss.
    pub fn count_loss(&mut self, process: usize, reason: LossReason) {
        self.processes[process].facts.drops[reason as usize] += 1;
    }

    fn blocks(&self, process: usize) -> impl Iterator<Item = LiveBlock> + '_ {
        self.processes[process].live.values().map(|live| LiveBlock {
            size_bytes: live.size,
            stack: live.stack,
            thread: ThreadId(live.thread),
            birth_ticks: BEGIN_TICKS + live.us,
            ..LiveBlock::default()
        })
    }

    /// Gives what is live in a process at its end, if the recording says so, and when that was.
    pub(super) fn table(&self, process: usize, take: &mut dyn FnMut(&LiveBlock)) -> Option<TableMoment> {
        self.blocks(process).filter(|_| self.has_tables).for_each(|block| take(&block));
        let last = self.chunks.iter().map(|(facts, _)| facts.last_ticks).max().unwrap_or(0);
        self.has_tables.then_some(TableMoment { ticks: last + TABLE_AFTER_US, is_after_all: true })
    }

    /// A chunk that no recorder would write.
    pub fn raw(&mut self, facts: ChunkFacts, payload: Vec<u8>) {
        self.chunks.push((facts, payload));
    }
}
