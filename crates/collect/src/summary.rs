//! What `record` prints at the end, summed while chunks pass by.

use heapscribe_analyze::answer::{Amount, Bounds, Range};
use heapscribe_analyze::losses::{Losses, Seen};
use heapscribe_formats::model::{ChunkInfo, Evicted, ProcessEnd, ProcessIndex, UNKNOWN};
use heapscribe_formats::{ChunkSums, Drainer, EndedImages, Unrecorded};
use heapscribe_wire::head::{DROP_COUNTERS, LossReason};
use heapscribe_wire::record::Call;

use heapscribe_session::SessionKey;
use heapscribe_session::heap_statistics::EndedHeaps;

use crate::level::Level;
use crate::memtrace::Written;
use crate::ring::CrowdedRing;
use crate::unwritten::UnwrittenSums;
use crate::watch::SnapshotCounts;

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
    /// When the program was started, or the first of them began, CLOCK_MONOTONIC ns; 0 for none.
    pub first_mono_ns: u64,
    /// Events of all kinds.
    pub events: u64,
    /// Calls of the heap.
    pub calls: u64,
    /// Calls of the program's pools, and those that free blocks of them.
    pub pool_calls: u64,
    pool_frees: u64,
    /// Calls of the heap that free blocks whose allocation was not seen.
    unknown_of_heap: u64,
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
    /// Processes of which nothing was recorded for a time, and how long that was in all of them, ns.
    pub off: (u64, u64),
    /// Drops by reason.
    pub drops: [u64; DROP_COUNTERS],
    /// Events that the events themselves say are missing.
    lost_by_events: u64,
    /// Bytes of logs that were no events.
    pub damaged_bytes: u64,
    /// Bytes of the trace.
    pub trace_bytes: u64,
    /// Files of memtrace, when the trace is made of these, the one that was asked for first.
    pub written: Vec<Written>,
    /// Retained sessions of processes that were killed.
    pub killed_sessions: Vec<std::path::PathBuf>,
    /// Sessions that are in the trace and were not removed.
    pub written_sessions: Vec<SessionKey>,
    /// Those of processes whose end nobody saw, which may have been killed.
    pub unseen_sessions: Vec<std::path::PathBuf>,
    /// Statistics of heaps whose processes have ended.
    pub heaps: EndedHeaps,
    /// Snapshots that triggers took.
    pub snapshots: SnapshotCounts,
    /// Processes that were stopped because a call broke a rule of real time.
    pub stopped: u64,
    /// Whether events before these are not in the trace, nor counted.
    pub is_rest: bool,
    /// What a ring evicted.
    pub evicted: Option<Evicted>,
    /// What left a ring little room for events.
    pub crowded_ring: Option<CrowdedRing>,
    /// How the drainer kept up.
    pub drainer: Drainer,
}

impl Summary {
    /// The program was started, or a process image began, at this time; 0 when that is not known.
    pub fn began(&mut self, mono_ns: u64) {
        if mono_ns != 0 && (self.first_mono_ns == 0 || mono_ns < self.first_mono_ns) {
            self.first_mono_ns = mono_ns;
        }
    }

    /// Takes note that blocks of a process are sampled.
    pub fn sampled(&mut self, process: ProcessIndex) {
        self.is_sampled = true;
        self.level.sampled(process);
    }

    /// Adds the sums of a chunk.
    pub fn add(&mut self, process: ProcessIndex, info: &ChunkInfo, sums: &ChunkSums) {
        self.level.add(process, info, sums);
        self.events += u64::from(sums.events);
        self.lost_by_events = self.lost_by_events.saturating_add(sums.lost_events);
        self.calls += sums.heap_calls();
        self.pool_calls += sums.pool_calls();
        self.pool_frees += u64::from(sums.calls[Call::PoolFree as usize]);
        self.unknown_of_heap += u64::from(sums.unknown_frees) + u64::from(sums.unknown_reallocs);
        self.allocations +=
            u64::from(sums.allocs) + u64::from(sums.reallocs) + u64::from(sums.unknown_reallocs);
        self.allocated_bytes = self.allocated_bytes.saturating_add(sums.alloc_bytes);
    }

    /// Takes off what is not in the trace.
    pub(crate) fn take_off(&mut self, unwritten: &UnwrittenSums) {
        self.events -= unwritten.events.min(self.events);
        self.calls -= unwritten.calls.min(self.calls);
        self.allocations -= unwritten.allocations.min(self.allocations);
        self.allocated_bytes -= unwritten.allocated_bytes.min(self.allocated_bytes);
        self.drops[LossReason::NotWritten as usize] = unwritten.events;
    }

    /// Adds a process that has ended: what its table of live blocks has, when that was read, and how it ended. Gives
    /// what is known of it without its events.
    pub(crate) fn process(
        &mut self,
        process: ProcessIndex,
        table: Option<Amount>,
        end: &ProcessEnd,
    ) -> EndedImages {
        let own = self.level.ended(process);
        let seen = Seen {
            net: own.amount(),
            table,
            // Nobody has looked.
            peak: Amount { blocks: 0, bytes: u64::MAX },
            largest_bytes: u64::MAX,
            ..Seen::default()
        };
        let losses = losses(end).in_ring(self.is_rest, false).in_rest(self.is_rest);
        let leaked = losses.bounds(&seen).leaked;
        self.unfreed.add(&leaked);
        self.note_losses(&losses, &seen);
        self.processes += 1;
        let off_ns = end.off_periods().map(|(from, to)| to - from).fold(0, u64::saturating_add);
        self.off = (self.off.0 + u64::from(off_ns > 0), self.off.1.saturating_add(off_ns));
        for (sum, n) in self.drops.iter_mut().zip(&end.drops) {
            *sum = sum.saturating_add(*n);
        }
        let leaked = if own.is_sampled { Bounds::between(Amount::default(), None) } else { leaked };
        let peak_bytes = end.peak.filter(|_| losses.bounds_peak()).map(|peak| peak.bytes);
        let [blocks_max, bytes_max] =
            [leaked.blocks, leaked.bytes].map(|range| range.high.unwrap_or(UNKNOWN));
        EndedImages {
            images: 1,
            leaked_blocks_min: leaked.blocks.low,
            leaked_blocks_max: blocks_max,
            leaked_bytes_min: leaked.bytes.low,
            leaked_bytes_max: bytes_max,
            one_leaked_blocks: blocks_max,
            one_leaked_bytes: bytes_max,
            one_peak_bytes: peak_bytes.unwrap_or(0),
            peaks_bytes: peak_bytes.unwrap_or(UNKNOWN),
            lost_events: LossReason::lost_events(&end.drops),
            sampled: u64::from(own.is_sampled),
            ..EndedImages::default()
        }
    }

    /// Notes what the losses of a process leave of the peak of all: when it may have been larger, and by how much it
    /// may have been smaller.
    fn note_losses(&mut self, losses: &Losses, seen: &Seen) {
        if losses.bounds_peak() {
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

    /// Frees of blocks whose allocation was not seen: of the heap's, and of the program's pools.
    pub fn unknown(&self) -> (u64, u64) {
        let all = self.drops[LossReason::UnknownBlock as usize];
        let of_pools = all.saturating_sub(self.unknown_of_heap).min(self.pool_frees);
        (all - of_pools, of_pools)
    }

    /// Events that are missing, as far as that is known without the trace.
    pub fn lost_events(&self) -> u64 {
        LossReason::lost_events(&self.drops).max(self.lost_by_events)
    }

    /// Whether losses have touched figures, so that a report has bounds for them.
    pub fn has_losses(&self) -> bool {
        self.peak_is_touched || self.lost_events() > 0
    }
}

/// What is missing of a process by the counters of its recorder, and by what it was to record.
pub(crate) fn losses(end: &ProcessEnd) -> Losses {
    let is_off = end.off_periods().next().is_some();
    Losses::of(&end.drops, LossReason::lost_events(&end.drops), end.drops[LossReason::UnknownBlock as usize])
        .while_off(is_off)
}
