//! What is measured while operations run: nothing, time, or memory. Never two at once: to measure memory is a system
//! call that empties caches, and times would be wrong.

use std::io;

use heapscribe_alloc::Stats;

use crate::clock::Clock;
use crate::histogram::Histogram;
use crate::resident::Resident;
use crate::results::{Footprint, Latency, Moment, Timed};

/// A call of this length is checked: was the core taken away?
const LONG_NS: u64 = 20_000;
/// Calls between two measurements of memory, for each MiB of the heap: each takes the longer the more there is.
const CALLS_PER_MEASUREMENT: u64 = 256;

/// A kind of call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An allocation.
    Alloc,
    /// One of zeros.
    Zeroed,
    /// One with an alignment.
    Aligned,
    /// A reallocation.
    Realloc,
    /// A free.
    Free,
}

impl Kind {
    /// All, in the order in which they are shown.
    pub const ALL: [Kind; 5] = [Kind::Alloc, Kind::Zeroed, Kind::Aligned, Kind::Realloc, Kind::Free];

    /// The function of the C library that it stands for.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Alloc => "malloc",
            Kind::Zeroed => "calloc",
            Kind::Aligned => "memalign",
            Kind::Realloc => "realloc",
            Kind::Free => "free",
        }
    }
}

/// What observes a run.
pub trait Observer {
    /// The run begins: all memory besides the heap's is allocated.
    fn begin(&mut self) {}
    /// Makes a call.
    fn call<T>(&mut self, kind: Kind, call: impl FnOnce() -> T) -> T;
    /// A call has ended, and its block was touched.
    fn after(&mut self, live_bytes: u64);
    /// A step of the recording's time has ended.
    fn moment(&mut self, ns: u64, live_bytes: u64, stats: impl FnOnce() -> Stats);
}

/// Measures nothing.
#[derive(Clone, Copy, Debug)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn call<T>(&mut self, _kind: Kind, call: impl FnOnce() -> T) -> T {
        call()
    }
    fn after(&mut self, _live_bytes: u64) {}
    fn moment(&mut self, _ns: u64, _live_bytes: u64, _stats: impl FnOnce() -> Stats) {}
}

/// Times calls.
#[derive(Debug)]
pub struct LatencyObserver {
    clock: Clock,
    long_ticks: u64,
    resident: Resident,
    switches: u64,
    left_out: u64,
    kinds: [Histogram; Kind::ALL.len()],
}

impl LatencyObserver {
    /// # Errors
    /// When the kernel does not say how often it takes the core away.
    pub fn new() -> io::Result<LatencyObserver> {
        let (clock, resident) = (Clock::new(), Resident::new()?);
        let (long_ticks, switches) = (clock.ticks(LONG_NS), resident.switches());
        let kinds = std::array::from_fn(|_| Histogram::new());
        Ok(LatencyObserver { clock, long_ticks, resident, switches, left_out: 0, kinds })
    }

    /// What was measured.
    pub fn finish(self) -> Latency {
        let timed = |histogram: &Histogram| {
            let at = |share| self.clock.ns(histogram.percentile(share));
            Timed {
                calls: histogram.total(),
                p50_ns: at(0.5),
                p90_ns: at(0.9),
                p99_ns: at(0.99),
                p999_ns: at(0.999),
                p9999_ns: at(0.9999),
                max_ns: self.clock.ns(histogram.most()),
            }
        };
        let kinds = Kind::ALL.into_iter().zip(&self.kinds).filter(|(_, histogram)| histogram.total() > 0);
        Latency {
            kinds: kinds.map(|(kind, histogram)| (kind.name().to_owned(), timed(histogram))).collect(),
            left_out: self.left_out,
            clock_ns: self.clock.ns(self.clock.own_ticks),
            clock: self.clock.name().to_owned(),
        }
    }

    #[cold]
    fn was_interrupted(&mut self) -> bool {
        let before = std::mem::replace(&mut self.switches, self.resident.switches());
        self.switches != before
    }
}

impl Observer for LatencyObserver {
    #[inline(always)]
    fn call<T>(&mut self, kind: Kind, call: impl FnOnce() -> T) -> T {
        let (value, ticks) = self.clock.timed(call);
        let ticks = ticks.saturating_sub(self.clock.own_ticks);
        if ticks > self.long_ticks && self.was_interrupted() {
            self.left_out += 1;
        } else {
            self.kinds[kind as usize].add(ticks);
        }
        value
    }

    fn after(&mut self, _live_bytes: u64) {}
    fn moment(&mut self, _ns: u64, _live_bytes: u64, _stats: impl FnOnce() -> Stats) {}
}

/// Measures memory: at each moment, whenever there is a hundredth more live than at any measurement before, and
/// from time to time.
#[derive(Debug)]
pub struct FootprintObserver {
    resident: Resident,
    footprint: Footprint,
    /// Moments so far.
    moments: usize,
    calls_to_measure: u64,
    live_to_measure: u64,
}

impl FootprintObserver {
    /// For a program of at most `moments` moments.
    ///
    /// # Errors
    /// When the kernel does not say how much memory there is.
    pub fn new(moments: u64) -> io::Result<FootprintObserver> {
        let resident = Resident::new()?;
        let moments = vec![Moment::default(); usize::try_from(moments).unwrap_or(0)];
        let footprint = Footprint { moments, ..Footprint::default() };
        Ok(FootprintObserver { resident, footprint, moments: 0, calls_to_measure: 0, live_to_measure: 0 })
    }

    /// What was measured.
    pub fn finish(mut self) -> Footprint {
        self.footprint.moments.truncate(self.moments);
        self.footprint
    }

    fn measure(&mut self, live_bytes: u64) -> u64 {
        let bytes = self.resident.bytes().saturating_sub(self.footprint.before_bytes);
        self.footprint.looks += 1;
        if bytes > self.footprint.peak_bytes {
            (self.footprint.peak_bytes, self.footprint.peak_live_bytes) = (bytes, live_bytes);
        }
        self.calls_to_measure = CALLS_PER_MEASUREMENT * (1 + (bytes >> 20));
        self.live_to_measure = self.live_to_measure.max(live_bytes + live_bytes / 100);
        bytes
    }
}

impl Observer for FootprintObserver {
    fn begin(&mut self) {
        self.footprint.before_bytes = self.resident.bytes();
    }

    #[inline(always)]
    fn call<T>(&mut self, _kind: Kind, call: impl FnOnce() -> T) -> T {
        call()
    }

    #[inline(always)]
    fn after(&mut self, live_bytes: u64) {
        self.calls_to_measure = self.calls_to_measure.saturating_sub(1);
        if self.calls_to_measure == 0 || live_bytes > self.live_to_measure {
            self.measure(live_bytes);
        }
    }

    fn moment(&mut self, ns: u64, live_bytes: u64, stats: impl FnOnce() -> Stats) {
        let footprint_bytes = self.measure(live_bytes);
        let Stats { free_bytes, largest_free_bytes, .. } = stats();
        if let Some(moment) = self.footprint.moments.get_mut(self.moments) {
            *moment = Moment { ns, live_bytes, footprint_bytes, free_bytes, largest_free_bytes };
            self.moments += 1;
        }
    }
}
