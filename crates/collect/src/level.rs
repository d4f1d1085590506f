//! What is live in recorded processes, followed chunk by chunk while they pass by, and the most of it at a time.
//!
//! Chunks of one thread come in the order of their events. Those of several threads come in the order of being
//! full: then the highest level is not known here, but for one who reads them all.

use std::collections::BTreeMap;

use heapscribe_analyze::answer::Amount;
use heapscribe_formats::ChunkSums;
use heapscribe_formats::model::{ChunkInfo, OwnPeak, ProcessIndex};

/// The highest level of all processes together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Peak {
    /// Live bytes at that moment.
    pub bytes: i64,
    /// Whose event it was after.
    pub process: ProcessIndex,
    /// When it was, in ticks of that process.
    pub ticks: u64,
    /// The same, CLOCK_MONOTONIC ns, as well as the clock readings of the chunk tell.
    pub mono_ns: u64,
}

/// What the events of a process leave live.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Live {
    blocks: i64,
    bytes: i64,
    peak: OwnPeak,
    /// The thread of its chunks, as long as there is one only.
    thread: Option<u32>,
    last_ticks: u64,
    /// Whether a chunk has come after one whose events are later.
    is_unordered: bool,
    /// Whether blocks were sampled, so that sums are none of the heap.
    pub(crate) is_sampled: bool,
}

impl Live {
    pub(crate) fn amount(self) -> Amount {
        let [blocks, bytes] = [self.blocks, self.bytes].map(|n| n.max(0).unsigned_abs());
        Amount { blocks, bytes }
    }

    fn add(&mut self, info: &ChunkInfo, sums: &ChunkSums) {
        let is_of_same = *self.thread.get_or_insert(info.thread) == info.thread;
        self.is_unordered |= !is_of_same && info.begin_ticks < self.last_ticks;
        if !is_of_same {
            self.thread = Some(u32::MAX);
        }
        self.last_ticks = self.last_ticks.max(sums.last_ticks);
        let highest = self.bytes.saturating_add(sums.max_net_bytes);
        if u64::try_from(highest).is_ok_and(|bytes| bytes > self.peak.bytes) {
            self.peak = OwnPeak { bytes: highest.unsigned_abs(), ticks: sums.max_net_ticks };
        }
        self.bytes = self.bytes.saturating_add(sums.net_bytes);
        self.blocks = self.blocks.saturating_add(sums.net_blocks);
    }
}

/// The level of all processes, and of each.
#[derive(Debug, Default)]
pub struct Level {
    /// What is live in each process that has not ended.
    live: BTreeMap<ProcessIndex, Live>,
    /// In all of them.
    total_bytes: i64,
    /// The process and thread of the first chunk, and whether there were others.
    first: Option<(ProcessIndex, u32)>,
    has_others: bool,
    peak: Peak,
}

impl Level {
    pub(crate) fn add(&mut self, process: ProcessIndex, info: &ChunkInfo, sums: &ChunkSums) {
        let who = (process, info.thread);
        self.has_others |= *self.first.get_or_insert(who) != who;
        let bytes = self.total_bytes.saturating_add(sums.max_net_bytes);
        if bytes > self.peak.bytes {
            self.peak = Peak { bytes, process, ticks: sums.max_net_ticks, mono_ns: time_of(info, sums) };
        }
        self.total_bytes = self.total_bytes.saturating_add(sums.net_bytes);
        self.live.entry(process).or_default().add(info, sums);
    }

    /// Blocks of a process are sampled from now on.
    pub(crate) fn sampled(&mut self, process: ProcessIndex) {
        self.live.entry(process).or_default().is_sampled = true;
    }

    /// The most that was live at a time in a process that has not ended yet, where that is known.
    pub(crate) fn own_peak(&self, process: ProcessIndex) -> Option<OwnPeak> {
        let live = self.live.get(&process).copied().unwrap_or_default();
        (!live.is_unordered && !live.is_sampled).then_some(live.peak)
    }

    /// What the events of a process that has not ended leave live, in blocks and bytes: below 0 where it freed what
    /// others allocated. Nothing that is of use where blocks were sampled.
    pub(crate) fn net(&self, process: ProcessIndex) -> Option<(i64, i64)> {
        let live = self.live.get(&process).copied().unwrap_or_default();
        (!live.is_sampled).then_some((live.blocks, live.bytes))
    }

    /// A process has ended, and what was live in it with it, which this gives.
    pub(crate) fn ended(&mut self, process: ProcessIndex) -> Live {
        let own = self.live.remove(&process).unwrap_or_default();
        self.total_bytes = self.total_bytes.saturating_sub(own.bytes);
        own
    }

    /// The peak so far; of several threads it is about that.
    pub fn peak(&self) -> Peak {
        self.peak
    }

    /// Whether all events are of one thread, so that the peak is exact.
    pub fn is_exact(&self) -> bool {
        !self.has_others
    }
}

/// When the chunk's highest level was: on the line between its two clock readings.
fn time_of(info: &ChunkInfo, sums: &ChunkSums) -> u64 {
    let ticks = info.end_ticks.saturating_sub(info.begin_ticks);
    let ns = info.end_mono_ns.saturating_sub(info.begin_mono_ns);
    let into = sums.max_net_ticks.saturating_sub(info.begin_ticks).min(ticks);
    let share = if ticks == 0 { 0 } else { u128::from(ns) * u128::from(into) / u128::from(ticks) };
    info.begin_mono_ns.saturating_add(u64::try_from(share).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROCESS: ProcessIndex = ProcessIndex(3);

    /// Chunks as thread, first and last tick, most bytes and bytes left; the peak that is known of them.
    fn check(chunks: &[(u32, u64, u64, i64, i64)], expected: Option<(u64, u64)>) {
        let mut level = Level::default();
        for &(thread, begin_ticks, last_ticks, max_net_bytes, net_bytes) in chunks {
            let info = ChunkInfo { thread, begin_ticks, ..ChunkInfo::default() };
            let sums = ChunkSums {
                last_ticks,
                max_net_ticks: begin_ticks + 1,
                max_net_bytes,
                net_bytes,
                ..ChunkSums::default()
            };
            level.add(PROCESS, &info, &sums);
        }
        let peak = level.own_peak(PROCESS).map(|peak| (peak.bytes, peak.ticks));
        assert_eq!(peak, expected, "{chunks:?}");
        level.sampled(PROCESS);
        assert_eq!(level.own_peak(PROCESS), None);
    }

    #[test]
    fn the_peak_of_chunks_in_order_is_known() {
        check(&[], Some((0, 0)));
        check(&[(1, 10, 20, 100, 50), (1, 20, 30, 60, -10)], Some((110, 21)));
        check(&[(1, 10, 20, 100, 50), (2, 20, 30, 60, -10), (1, 31, 32, 70, 0)], Some((110, 21)));
        check(&[(1, 10, 20, 100, 50), (2, 15, 30, 60, -10)], None);
        check(&[(1, 10, 20, 100, 50), (2, 20, 90, 0, 0), (1, 21, 30, 60, 0)], None);
    }
}
