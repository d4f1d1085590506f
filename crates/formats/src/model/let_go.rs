//! What is known of events that are not there any more.

use heapscribe_wire::record::Call;

use crate::sums::ChunkSums;

/// Sums over the events that a ring did not keep: what is known of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LetGo {
    /// Processes of which nothing else is left.
    pub processes: u64,
    /// When the last of them was over, CLOCK_MONOTONIC ns; 0 for none. Other threads may have kept older ones.
    pub until_mono_ns: u64,
    /// Chunks.
    pub chunks: u64,
    /// Events.
    pub events: u64,
    /// Events that were missing in them.
    pub lost_events: u64,
    /// Calls by function.
    pub calls: [u64; Call::ALL.len()],
    /// Blocks that came, by allocs and all kinds of reallocs.
    pub came_blocks: u64,
    /// Known blocks that went.
    pub went_blocks: u64,
    /// Bytes of the blocks that came.
    pub came_bytes: u64,
    /// Bytes of the known blocks that went.
    pub went_bytes: u64,
}

impl LetGo {
    /// Adds a chunk.
    pub fn chunk(&mut self, sums: &ChunkSums, ended_mono_ns: u64) {
        self.until_mono_ns = self.until_mono_ns.max(ended_mono_ns);
        self.chunks += 1;
        self.events += u64::from(sums.events);
        self.lost_events = self.lost_events.saturating_add(sums.lost_events);
        self.calls.iter_mut().zip(&sums.calls).for_each(|(sum, n)| *sum += u64::from(*n));
        self.came_blocks +=
            u64::from(sums.allocs) + u64::from(sums.reallocs) + u64::from(sums.unknown_reallocs);
        self.went_blocks += u64::from(sums.frees) + u64::from(sums.reallocs);
        self.came_bytes = self.came_bytes.saturating_add(sums.alloc_bytes);
        self.went_bytes = self.went_bytes.saturating_add(sums.freed_bytes);
    }

    /// Adds what was let go elsewhere.
    pub fn merge(&mut self, other: &LetGo) {
        self.until_mono_ns = self.until_mono_ns.max(other.until_mono_ns);
        self.calls.iter_mut().zip(&other.calls).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
        let LetGo { processes, chunks, events, lost_events, .. } = self;
        for (sum, n) in [
            (processes, other.processes),
            (chunks, other.chunks),
            (events, other.events),
            (lost_events, other.lost_events),
            (&mut self.came_blocks, other.came_blocks),
            (&mut self.went_blocks, other.went_blocks),
            (&mut self.came_bytes, other.came_bytes),
            (&mut self.went_bytes, other.went_bytes),
        ] {
            *sum = sum.saturating_add(n);
        }
    }

    /// Whether nothing was.
    pub fn is_nothing(&self) -> bool {
        self.chunks == 0 && self.processes == 0
    }

    /// Bytes that were live after all of it, of blocks that it tells of; below 0 never, but in a damaged trace.
    pub fn live_bytes(&self) -> i64 {
        self.came_bytes.wrapping_sub(self.went_bytes) as i64
    }
}
