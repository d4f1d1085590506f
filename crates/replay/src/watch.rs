//! What is looked at while operations run: nothing, time, or memory. Never two at once: a look at memory is a
//! system call that empties caches, and a clock is no use beside it.

use std::io;

use heapscribe_alloc::Stats;

use crate::clock::Clock;
use crate::found::{Footprint, Latency, Moment, Timed};
use crate::histogram::Histogram;
use crate::resident::Resident;

/// From here on a call is looked at: was the core taken away?
const LONG_NS: u64 = 20_000;
/// Calls between two looks at memory, for each MiB that the heap has: a look takes the longer the more there is.
const CALLS_PER_LOOK: u64 = 256;

/// A kind of call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A block.
    Alloc,
    /// One of zeros.
    Zeroed,
    /// One with an alignment.
    Aligned,
    /// A block's size is changed.
    Realloc,
    /// A block is given back.
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

/// Who looks.
pub trait Watch {
    /// All that is needed besides the heap is there.
    fn begin(&mut self) {}
    /// Makes a call.
    fn call<T>(&mut self, kind: Kind, call: impl FnOnce() -> T) -> T;
    /// A call and the touching of its block are over.
    fn after(&mut self, live_bytes: u64);
    /// A step of time is over.
    fn moment(&mut self, ns: u64, live_bytes: u64, stats: impl FnOnce() -> Stats);
}

/// Nothing is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Watch for Nothing {
    fn call<T>(&mut self, _kind: Kind, call: impl FnOnce() -> T) -> T {
        call()
    }
    fn after(&mut self, _live_bytes: u64) {}
    fn moment(&mut self, _ns: u64, _live_bytes: u64, _stats: impl FnOnce() -> Stats) {}
}

/// Calls are timed.
#[derive(Debug)]
pub struct Timing {
    clock: Clock,
    long_ticks: u64,
    resident: Resident,
    switches: u64,
    left_out: u64,
    kinds: [Histogram; Kind::ALL.len()],
}

impl Timing {
    /// # Errors
    /// When the kernel does not say how often it takes the core away.
    pub fn new() -> io::Result<Timing> {
        let (clock, resident) = (Clock::new(), Resident::new()?);
        let (long_ticks, switches) = (clock.ticks(LONG_NS), resident.switches());
        let kinds = std::array::from_fn(|_| Histogram::new());
        Ok(Timing { clock, long_ticks, resident, switches, left_out: 0, kinds })
    }

    /// What was found.
    pub fn finish(self) -> Latency {
        let told = |histogram: &Histogram| {
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
            kinds: kinds.map(|(kind, histogram)| (kind.name().to_owned(), told(histogram))).collect(),
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

impl Watch for Timing {
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

/// Memory is looked at: at each moment, whenever there is a hundredth more live than at any look before, and
/// from time to time.
#[derive(Debug)]
pub struct Watching {
    resident: Resident,
    found: Footprint,
    /// Moments that have come.
    moments: usize,
    calls_to_look: u64,
    live_to_look: u64,
}

impl Watching {
    /// For a program of at most `moments` moments.
    ///
    /// # Errors
    /// When the kernel does not say how much memory there is.
    pub fn new(moments: u64) -> io::Result<Watching> {
        let resident = Resident::new()?;
        let moments = vec![Moment::default(); usize::try_from(moments).unwrap_or(0)];
        let found = Footprint { moments, ..Footprint::default() };
        Ok(Watching { resident, found, moments: 0, calls_to_look: 0, live_to_look: 0 })
    }

    /// What was found.
    pub fn finish(mut self) -> Footprint {
        self.found.moments.truncate(self.moments);
        self.found
    }

    fn look(&mut self, live_bytes: u64) -> u64 {
        let bytes = self.resident.bytes().saturating_sub(self.found.before_bytes);
        self.found.looks += 1;
        if bytes > self.found.peak_bytes {
            (self.found.peak_bytes, self.found.peak_live_bytes) = (bytes, live_bytes);
        }
        self.calls_to_look = CALLS_PER_LOOK * (1 + (bytes >> 20));
        self.live_to_look = self.live_to_look.max(live_bytes + live_bytes / 100);
        bytes
    }
}

impl Watch for Watching {
    fn begin(&mut self) {
        self.found.before_bytes = self.resident.bytes();
    }

    #[inline(always)]
    fn call<T>(&mut self, _kind: Kind, call: impl FnOnce() -> T) -> T {
        call()
    }

    #[inline(always)]
    fn after(&mut self, live_bytes: u64) {
        self.calls_to_look = self.calls_to_look.saturating_sub(1);
        if self.calls_to_look == 0 || live_bytes > self.live_to_look {
            self.look(live_bytes);
        }
    }

    fn moment(&mut self, ns: u64, live_bytes: u64, stats: impl FnOnce() -> Stats) {
        let footprint_bytes = self.look(live_bytes);
        let Stats { free_bytes, largest_free_bytes, .. } = stats();
        if let Some(moment) = self.found.moments.get_mut(self.moments) {
            *moment = Moment { ns, live_bytes, footprint_bytes, free_bytes, largest_free_bytes };
            self.moments += 1;
        }
    }
}
