//! What the passes ask of a recording. They see chunks of events by number and load them when they need
//! them, several at a time on several cores; where the bytes come from is not their business.

use heapscribe_formats::{Broke, Drainer, LetGo, RealTimeRules};
pub use heapscribe_formats::{HeapInfo, HeapSample};
use heapscribe_wire::defs::Definition;
use heapscribe_wire::head::DROP_COUNTERS;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::record::{BadEvent, Event};

use crate::answer::{Ended, Exit, StackCheck};

/// A recording: processes, their definitions, and chunks of events.
pub trait History: Sync {
    /// What a thread of the analysis needs to load chunks: buffers, decompressors.
    type Scratch: Default + Send;

    /// The recording as a whole.
    fn session(&self) -> SessionFacts;

    /// The processes; chunks name them by index.
    fn processes(&self) -> Vec<ProcessFacts>;

    /// The chunks, in any order.
    fn chunks(&self) -> Vec<ChunkFacts>;

    /// The events of a chunk, by its index in [`Self::chunks`]: each with the ticks since the one before it.
    ///
    /// # Errors
    /// In words, when the bytes cannot be had; the chunk is left out and the answer says so.
    fn events<'a>(
        &'a self,
        chunk: usize,
        scratch: &'a mut Self::Scratch,
    ) -> Result<impl EventsInOrder + 'a, String>;

    /// Gives all definitions of a process, in their order.
    ///
    /// # Errors
    /// In words, when the rest of them cannot be had.
    fn definitions(
        &self,
        process: usize,
        take: &mut dyn FnMut(StackId, &Definition<'_>),
    ) -> Result<(), String>;

    /// What was wrong with the recording, in words.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The events of a chunk in their order; after bytes that are none there are no more.
pub trait EventsInOrder: Iterator<Item = Result<(u64, Event), BadEvent>> {}

impl<I: Iterator<Item = Result<(u64, Event), BadEvent>>> EventsInOrder for I {}

/// The recording as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionFacts {
    /// When it began, CLOCK_MONOTONIC ns; 0 when that is not known.
    pub begin_mono_ns: u64,
    /// The same moment, ns since 1970; 0 when that is not known.
    pub begin_real_ns: u64,
    /// When it ended, CLOCK_MONOTONIC ns; 0 when that is not known.
    pub end_mono_ns: u64,
    /// The command that was recorded.
    pub command: Vec<Vec<u8>>,
    /// Name of the machine.
    pub host: String,
    /// Version of heapscribe that recorded.
    pub version: String,
    /// How the command ended.
    pub exit: Option<Exit>,
    /// How the one who wrote the trace kept up; all 0 when that is not known.
    pub drainer: Drainer,
    /// What a ring let go of processes of which nothing else is left.
    pub let_go: LetGo,
    /// Where programs must not call the heap.
    pub rules: RealTimeRules,
}

/// A process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessFacts {
    /// The kernel's number.
    pub pid: u32,
    /// The parent's.
    pub parent_pid: u32,
    /// Index of its recorded parent.
    pub parent: Option<usize>,
    /// Whether it is a forked child.
    pub is_fork: bool,
    /// Path of its program.
    pub exe: Vec<u8>,
    /// Command line.
    pub command: Vec<Vec<u8>>,
    /// When its recording began, CLOCK_MONOTONIC ns; 0 when that is not known.
    pub begin_mono_ns: u64,
    /// When it ended, CLOCK_MONOTONIC ns; 0 when that is not known.
    pub end_mono_ns: u64,
    /// How it ended.
    pub ended: Ended,
    /// How its ticks become ns.
    pub clock: Clock,
    /// Whether its ns are calls, as nothing is known of times.
    pub counts_calls: bool,
    /// What its recorder dropped, by the number of a `heapscribe_wire::head::Drop`.
    pub drops: [u64; DROP_COUNTERS],
    /// Peak memory of its recorder, bytes.
    pub recorder_bytes: u64,
    /// Stacks that its recorder took twice.
    pub stack_check: StackCheck,
    /// Resident set at moments, by time.
    pub rss: Vec<RssSample>,
    /// What the heap under it is, when that tells of itself, and how it did at moments, by time.
    pub heap: Option<(HeapInfo, Vec<HeapSample>)>,
    /// What a ring let go of its events: the heap begins where they ended.
    pub let_go: LetGo,
    /// The call that broke a rule of real time and stopped it.
    pub broke: Option<Broke>,
}

/// Resident memory of a process at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RssSample {
    /// When, CLOCK_MONOTONIC ns.
    pub mono_ns: u64,
    /// Resident, bytes.
    pub rss_bytes: u64,
    /// Of it what belongs to no file and is shared with nobody, bytes.
    pub anonymous_bytes: u64,
}

/// A chunk: events of one thread, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChunkFacts {
    /// Index of its process.
    pub process: usize,
    /// Its thread, as a number.
    pub thread: u32,
    /// The first event's dt counts from here.
    pub begin_ticks: u64,
    /// Ticks of its last event.
    pub last_ticks: u64,
    /// Birth ticks of the thread's last allocation before this chunk; 0 for none.
    pub last_alloc_ticks: u64,
    /// How many events it has.
    pub events: u64,
    /// Whether its allocations stand for blocks whose own events are not there: then they are no calls.
    pub is_made_up: bool,
}

/// How the ticks of a process become CLOCK_MONOTONIC ns: a straight line, so that no two threads are
/// reordered by it and ages are the same wherever they are converted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    /// A moment in ticks.
    pub origin_ticks: u64,
    /// The same moment, ns.
    pub origin_ns: u64,
    /// Length of a tick in units of 2^-32 ns; at least 1 ns for times to be as fine as ticks.
    pub ns_per_tick_q32: u64,
    /// Right shift that made ticks of the clock's own units.
    pub unit_shift: u32,
}

impl Default for Clock {
    /// Ticks that are ns.
    fn default() -> Self {
        Clock { origin_ticks: 0, origin_ns: 0, ns_per_tick_q32: 1 << 32, unit_shift: 0 }
    }
}

impl Clock {
    /// A moment, ns.
    pub fn ns(&self, ticks: u64) -> u64 {
        let distance = i128::from(ticks) - i128::from(self.origin_ticks);
        let ns = i128::from(self.origin_ns) + ((distance * i128::from(self.ns_per_tick_q32)) >> 32);
        ns.clamp(0, i128::from(u64::MAX)) as u64
    }

    /// A length of time, ns.
    #[inline(always)]
    pub fn span_ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.ns_per_tick_q32)) >> 32) as u64
    }

    /// A length of time in the clock's own units, ns, to the nearest, as a dump has it.
    #[inline(always)]
    pub fn units_ns(&self, units: u64) -> u64 {
        let shift = 32 + self.unit_shift.min(31);
        let ns = (u128::from(units) * u128::from(self.ns_per_tick_q32) + (1 << (shift - 1))) >> shift;
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// The first tick that is not before `ns`.
    pub fn first_tick_at(&self, ns: u64) -> u64 {
        let distance = i128::from(ns) - i128::from(self.origin_ns);
        let per_tick = i128::from(self.ns_per_tick_q32.max(1));
        let ticks = i128::from(self.origin_ticks) - (-(distance << 32)).div_euclid(per_tick);
        ticks.clamp(0, i128::from(u64::MAX)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_rounded_to_the_nearest_ns() {
        let of = |ns_per_tick_q32, unit_shift| Clock { ns_per_tick_q32, unit_shift, ..Clock::default() };
        for (clock, units, expected) in [
            (of(8 << 32, 4), 3, 2), // 1.5 ns
            (of(8 << 32, 4), 1, 1), // 0.5 ns
            (of((8 << 32) - 16, 4), 1, 0),
            (of(1 << 32, 0), 77, 77),
            (of(u64::MAX, 0), u64::MAX, u64::MAX),
        ] {
            assert_eq!(clock.units_ns(units), expected, "{clock:?} {units}");
        }
    }

    #[test]
    fn the_first_tick_at_a_moment_is_the_first() {
        for q in [1 << 32, 16 << 32, (13 << 32) + 12_345_678, 3 << 30] {
            let (origin_ticks, origin_ns) = (100_000, 50_000);
            let clock = Clock { origin_ticks, origin_ns, ns_per_tick_q32: q, ..Clock::default() };
            for ns in [40_000, 49_999, 50_000, 50_001, 50_016, 77_777, 1 << 40] {
                let tick = clock.first_tick_at(ns);
                assert!(clock.ns(tick) >= ns && clock.ns(tick - 1) < ns, "{clock:?} at {ns}");
            }
        }
    }
}
