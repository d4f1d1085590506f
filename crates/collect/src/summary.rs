//! What `record` prints at the end, summed while chunks pass by.

use std::collections::BTreeMap;

use heapscribe_analyze::answer::{Amount, Bounds, Range};
use heapscribe_analyze::losses::{Losses, Seen};
use heapscribe_formats::model::{ChunkInfo, Evicted, ProcessIndex};
use heapscribe_formats::{ChunkSums, Drainer};
use heapscribe_wire::definitions::{Definition, Definitions, Position};
use heapscribe_wire::head::{DROP_COUNTERS, LossReason};

use heapscribe_session::Unrecorded;
use heapscribe_session::heap_statistics::EndedHeaps;

use crate::memtrace::Written;

/// What was recorded, in sums over all processes.
#[derive(Debug, Default)]
pub struct Summary {
    /// Recorded process images.
    pub processes: u64,
    /// Those of them that are programs of their own, which were exec'd.
    pub programs: u64,
    /// Programs that were started and could not be recorded.
    pub unrecorded: Unrecorded,
    /// Images of programs that were not to be recorded.
    pub ignored: u64,
    /// The pid of the program that was started.
    pub watched_pid: u32,
    /// Whether any allocation call of it was recorded.
    pub watched_has_calls: bool,
    /// When the first of them began, CLOCK_MONOTONIC ns; 0 for none.
    pub first_mono_ns: u64,
    /// Events of all kinds.
    pub events: u64,
    /// Calls of all kinds.
    pub calls: u64,
    /// Allocated blocks.
    pub allocations: u64,
    /// Bytes of them.
    pub allocated_bytes: u64,
    /// Whether blocks were sampled, at least for some time.
    pub is_sampled: bool,
    /// What is live in all processes, followed chunk by chunk.
    pub level: Level,
    /// Between what the blocks that were never freed lie; exact where nothing is missing.
    pub unfreed: Bounds,
    /// Whether losses have touched the peak, whether it may have been larger, and by how much smaller.
    peak_is_touched: bool,
    peak_is_open: bool,
    peak_excess_bytes: u64,
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

/// The highest level so far.
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

/// What events leave live in a process.
#[derive(Clone, Copy, Debug, Default)]
struct Live {
    blocks: i64,
    bytes: i64,
}

impl Live {
    fn amount(self) -> Amount {
        let [blocks, bytes] = [self.blocks, self.bytes].map(|n| n.max(0).unsigned_abs());
        Amount { blocks, bytes }
    }
}

/// The level of all processes, followed chunk by chunk. Chunks of one thread come in order, those of several
/// do not: then the peak is near the true one, which the trace shows.
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
        let own = self.live.entry(process).or_default();
        own.bytes = own.bytes.saturating_add(sums.net_bytes);
        own.blocks = own.blocks.saturating_add(sums.net_blocks);
    }

    /// A process has ended, and what was live in it with it, which this gives.
    fn ended(&mut self, process: ProcessIndex) -> Live {
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

impl Summary {
    /// A process image began at this time.
    pub fn began(&mut self, mono_ns: u64) {
        if self.first_mono_ns == 0 || mono_ns < self.first_mono_ns {
            self.first_mono_ns = mono_ns;
        }
    }

    /// Takes note of definitions: a sampling rate says that blocks are sampled.
    pub fn definitions(&mut self, bytes: &[u8], position: Position) {
        let mut known = Definitions::new(bytes, position).flatten();
        self.is_sampled |= known.any(|(_, definition)| matches!(definition, Definition::Rate { .. }));
    }

    /// Adds the sums of a chunk.
    pub fn add(&mut self, process: ProcessIndex, info: &ChunkInfo, sums: &ChunkSums) {
        self.level.add(process, info, sums);
        self.events += u64::from(sums.events);
        self.calls += sums.calls.iter().map(|&n| u64::from(n)).sum::<u64>();
        self.allocations +=
            u64::from(sums.allocs) + u64::from(sums.reallocs) + u64::from(sums.unknown_reallocs);
        self.allocated_bytes = self.allocated_bytes.saturating_add(sums.alloc_bytes);
    }

    /// Adds a process that has ended: what its table of live blocks has, when that was read, its lost events by
    /// reason, and whether it made any call.
    pub(crate) fn process(
        &mut self,
        process: ProcessIndex,
        pid: u32,
        table: Option<Amount>,
        drops: &[u64; DROP_COUNTERS],
        has_calls: bool,
    ) {
        let seen = Seen {
            net: self.level.ended(process).amount(),
            table,
            // Nobody has looked.
            peak: Amount { blocks: 0, bytes: u64::MAX },
            largest_bytes: u64::MAX,
            ..Seen::default()
        };
        let losses = losses(drops);
        self.unfreed.add(&losses.bounds(&seen).leaked);
        self.note_losses(&losses, &seen);
        self.processes += 1;
        self.watched_has_calls |= has_calls && pid == self.watched_pid;
        for (sum, n) in self.drops.iter_mut().zip(drops) {
            *sum = sum.saturating_add(*n);
        }
    }

    /// Notes what the losses of a process leave of the peak of all: when it may have been larger, and by how much it
    /// may have been smaller.
    fn note_losses(&mut self, losses: &Losses, seen: &Seen) {
        if !losses.touches_leaks() {
            return;
        }
        let excess = losses.excess(seen).bytes;
        self.peak_excess_bytes = self.peak_excess_bytes.saturating_add(excess);
        self.peak_is_open |= losses.bounds(seen).peak.bytes.high.is_none();
        self.peak_is_touched = true;
    }

    /// Between what a peak lies that was found in the events, when losses have touched it.
    pub fn peak_bounds(&self, bytes: u64) -> Option<Range> {
        self.peak_is_touched.then(|| Range {
            low: bytes.saturating_sub(self.peak_excess_bytes),
            high: (!self.peak_is_open).then_some(bytes),
        })
    }

    /// Events that are missing.
    pub fn lost_events(&self) -> u64 {
        lost_events(&self.drops)
    }
}

fn lost_events(drops: &[u64; DROP_COUNTERS]) -> u64 {
    let lost = LossReason::ALL.iter().filter(|reason| reason.loses_events());
    lost.map(|&reason| drops[reason as usize]).fold(0, u64::saturating_add)
}

/// What is missing of a process by the counters of its recorder.
pub(crate) fn losses(drops: &[u64; DROP_COUNTERS]) -> Losses {
    Losses::of(drops, lost_events(drops), drops[LossReason::UnknownBlock as usize])
}
