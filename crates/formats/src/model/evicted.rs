//! What is known of events that a ring has evicted: their sums.

use heapscribe_wire::record::Call;

use super::ended_images::EndedImages;
use super::sums::{ChunkSums, heap_calls};

/// Sums over the events that a ring has evicted, oldest first, to keep within its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Evicted {
    /// Processes of which the ring kept nothing else.
    pub processes: u64,
    /// End of the last evicted chunk, CLOCK_MONOTONIC ns; 0 for none. Chunks of other threads that are kept may
    /// be older.
    pub until_mono_ns: u64,
    /// Chunks.
    pub chunks: u64,
    /// Events.
    pub events: u64,
    /// Events that were missing in them.
    pub lost_events: u64,
    /// Calls by function.
    pub calls: [u64; Call::ALL.len()],
    /// Blocks allocated, by allocs and all kinds of reallocs.
    pub allocated_blocks: u64,
    /// Known blocks freed.
    pub freed_blocks: u64,
    /// Bytes allocated.
    pub allocated_bytes: u64,
    /// Bytes of known blocks freed.
    pub freed_bytes: u64,
    /// What is known of those processes of which the ring kept nothing else.
    pub ended: EndedImages,
}

impl Evicted {
    /// Calls of the heap.
    pub fn heap_calls(&self) -> u64 {
        heap_calls(self.calls.iter().copied())
    }

    /// Adds a chunk.
    pub fn chunk(&mut self, sums: &ChunkSums, ended_mono_ns: u64) {
        self.until_mono_ns = self.until_mono_ns.max(ended_mono_ns);
        self.chunks += 1;
        self.events += u64::from(sums.events);
        self.lost_events = self.lost_events.saturating_add(sums.lost_events);
        self.calls.iter_mut().zip(&sums.calls).for_each(|(sum, n)| *sum += u64::from(*n));
        self.allocated_blocks +=
            u64::from(sums.allocs) + u64::from(sums.reallocs) + u64::from(sums.unknown_reallocs);
        self.freed_blocks += u64::from(sums.frees) + u64::from(sums.reallocs);
        self.allocated_bytes = self.allocated_bytes.saturating_add(sums.alloc_bytes);
        self.freed_bytes = self.freed_bytes.saturating_add(sums.freed_bytes);
    }

    /// Adds the sums over other evicted events.
    pub fn merge(&mut self, other: &Evicted) {
        let apart = self.is_before(other) || other.is_before(self);
        self.until_mono_ns = self.until_mono_ns.max(other.until_mono_ns);
        self.calls.iter_mut().zip(&other.calls).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
        let Evicted { processes, chunks, events, lost_events, .. } = self;
        for (sum, n) in [
            (processes, other.processes),
            (chunks, other.chunks),
            (events, other.events),
            (lost_events, other.lost_events),
            (&mut self.allocated_blocks, other.allocated_blocks),
            (&mut self.freed_blocks, other.freed_blocks),
            (&mut self.allocated_bytes, other.allocated_bytes),
            (&mut self.freed_bytes, other.freed_bytes),
        ] {
            *sum = sum.saturating_add(n);
        }
        self.ended.merge(&other.ended, apart);
    }

    /// Whether the processes of which nothing is left had all ended when the first of those others began.
    fn is_before(&self, other: &Evicted) -> bool {
        let first_ns = other.ended.first_mono_ns;
        // A process in a time namespace of its own may begin after its end.
        self.until_mono_ns < first_ns && first_ns <= other.until_mono_ns
    }

    /// Whether its events were counted. Those that a rest of a recording lacks were not: it has what they left live.
    pub fn is_counted(&self) -> bool {
        self.events > 0 || self.chunks == 0
    }

    /// Whether a ring has evicted anything.
    pub fn is_of_ring(&self) -> bool {
        !self.is_empty() && self.is_counted()
    }

    /// Whether nothing was evicted.
    pub fn is_empty(&self) -> bool {
        self.chunks == 0 && self.processes == 0
    }

    /// Blocks, and their bytes, that were live at the last evicted event; `None` for none.
    pub fn live(&self) -> Option<(u64, u64)> {
        let blocks = self.allocated_blocks.saturating_sub(self.freed_blocks);
        (blocks > 0).then(|| (blocks, self.allocated_bytes.saturating_sub(self.freed_bytes)))
    }

    /// Bytes of evicted allocations that were still live at the last evicted event; below 0 only in a damaged
    /// trace.
    pub fn live_bytes(&self) -> i64 {
        self.allocated_bytes.wrapping_sub(self.freed_bytes) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes that began and ended then, the most that each held, and all together.
    fn check(lives: &[(u64, u64, u64)], peaks_bytes: u64) {
        let mut all = Evicted::default();
        for &(first_mono_ns, until_mono_ns, peaks_bytes) in lives {
            let ended = EndedImages { images: 1, first_mono_ns, peaks_bytes, ..EndedImages::default() };
            all.merge(&Evicted { processes: 1, until_mono_ns, ended, ..Evicted::default() });
        }
        assert_eq!(all.ended.peaks_bytes, peaks_bytes, "{lives:?}");
    }

    #[test]
    fn those_that_lived_one_after_the_other_held_nothing_together() {
        check(&[(1, 5, 10), (6, 9, 30), (10, 12, 20)], 30);
        check(&[(6, 9, 30), (1, 5, 10)], 30);
        check(&[(1, 5, 10), (5, 9, 30)], 40);
        check(&[(1, 20, 10), (5, 9, 30), (10, 12, 20)], 60);
        check(&[(1, 5, 10), (100, 9, 30)], 40);
        check(&[(1, 5, super::super::UNKNOWN), (6, 9, 30)], super::super::UNKNOWN);
    }
}
