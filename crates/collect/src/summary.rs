//! What `record` prints at the end, summed while chunks pass by.

use heapscribe_formats::model::{ChunkInfo, Evicted};
use heapscribe_formats::{ChunkSums, Drainer};
use heapscribe_wire::head::{DROP_COUNTERS, LossReason};

use heapscribe_session::heap_statistics::EndedHeaps;

use crate::memtrace::Written;

/// What was recorded, in sums over all processes.
#[derive(Debug, Default)]
pub struct Summary {
    /// Recorded process images.
    pub processes: u64,
    /// The pid of the program that was started.
    pub watched_pid: u32,
    /// Whether any allocation call of it was recorded.
    pub watched_has_calls: bool,
    /// When the first of them began, CLOCK_MONOTONIC ns; 0 for none.
    pub first_mono_ns: u64,
    /// Calls of all kinds.
    pub calls: u64,
    /// Allocated blocks.
    pub allocations: u64,
    /// Bytes of them.
    pub allocated_bytes: u64,
    /// The largest level of one process.
    pub peak: Peak,
    /// Blocks that were never freed.
    pub unfreed_blocks: i64,
    /// Bytes of them.
    pub unfreed_bytes: i64,
    /// Drops by reason.
    pub drops: [u64; DROP_COUNTERS],
    /// Bytes of logs that were no events.
    pub damaged_bytes: u64,
    /// Bytes of the trace.
    pub trace_bytes: u64,
    /// Files of memtrace, when the trace is made of these, the one that was asked for first.
    pub written: Vec<Written>,
    /// Retained sessions of processes that were killed.
    pub killed_sessions: Vec<std::path::PathBuf>,
    /// Statistics of heaps whose processes have ended.
    pub heaps: EndedHeaps,
    /// Snapshots that triggers took.
    pub snapshots: u64,
    /// Processes that were stopped because a call broke a rule of real time.
    pub stopped: u64,
    /// What a ring evicted.
    pub evicted: Option<Evicted>,
    /// How the drainer kept up.
    pub drainer: Drainer,
}

/// The largest level of a process so far, and whether it is exact: chunks of one thread come in order,
/// those of several do not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peak {
    /// Live bytes at that moment.
    pub bytes: i64,
    /// When it was, CLOCK_MONOTONIC ns.
    pub mono_ns: u64,
    /// Whether it is exact: all chunks are of one thread, so that their order is known.
    pub is_exact: bool,
}

/// The level of one process, followed chunk by chunk.
#[derive(Debug, Default)]
pub(crate) struct Level {
    bytes: i64,
    /// The thread of the first chunk, and whether there were others.
    thread: Option<u32>,
    has_others: bool,
    pub peak: Peak,
}

impl Level {
    pub(crate) fn add(&mut self, info: &ChunkInfo, sums: &ChunkSums) {
        self.has_others |= *self.thread.get_or_insert(info.thread) != info.thread;
        let highest = self.bytes.saturating_add(sums.max_net_bytes);
        if highest > self.peak.bytes {
            self.peak = Peak { bytes: highest, mono_ns: time_of(info, sums), is_exact: true };
        }
        self.bytes = self.bytes.saturating_add(sums.net_bytes);
    }

    pub(crate) fn peak(&self) -> Peak {
        Peak { is_exact: !self.has_others, ..self.peak }
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

impl Summary {
    /// A process image began at this time.
    pub fn began(&mut self, mono_ns: u64) {
        if self.first_mono_ns == 0 || mono_ns < self.first_mono_ns {
            self.first_mono_ns = mono_ns;
        }
    }

    /// Adds the sums of a chunk.
    pub fn add(&mut self, sums: &ChunkSums) {
        self.calls += sums.calls.iter().map(|&n| u64::from(n)).sum::<u64>();
        self.allocations +=
            u64::from(sums.allocs) + u64::from(sums.reallocs) + u64::from(sums.unknown_reallocs);
        self.allocated_bytes = self.allocated_bytes.saturating_add(sums.alloc_bytes);
        self.unfreed_blocks = self.unfreed_blocks.saturating_add(sums.net_blocks);
        self.unfreed_bytes = self.unfreed_bytes.saturating_add(sums.net_bytes);
    }

    /// Adds a process that has ended: its highest level, its lost events by reason, and whether it made any call.
    pub fn process(&mut self, pid: u32, peak: Peak, drops: &[u64; DROP_COUNTERS], has_calls: bool) {
        self.processes += 1;
        self.watched_has_calls |= has_calls && pid == self.watched_pid;
        if peak.bytes > self.peak.bytes {
            self.peak = peak;
        }
        for (sum, n) in self.drops.iter_mut().zip(drops) {
            *sum = sum.saturating_add(*n);
        }
    }

    /// Events that are missing.
    pub fn lost_events(&self) -> u64 {
        let lost = LossReason::ALL.iter().filter(|reason| reason.loses_events());
        lost.map(|&reason| self.drops[reason as usize]).fold(0, u64::saturating_add)
    }
}
