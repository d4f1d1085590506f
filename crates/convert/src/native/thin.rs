//! Which blocks are retained when a trace is thinned. A block is named by its process, thread and birth, so that
//! its allocation and its end, wherever they stand, are judged alike without remembering anything. Of a span of time
//! the blocks are retained that were allocated in it: the free of an older one would take from its stack what that
//! never had in the new trace.

use std::collections::BTreeMap;
use std::ops::Range;

use heapscribe_analyze::input::Clock;
use heapscribe_formats::memtrace::ObjectId;
use heapscribe_formats::model::LiveBlock;
use heapscribe_wire::ids::RateId;
use heapscribe_wire::record::{Block, Event};

use crate::block_identity::BlockIdentity;

/// Words have 8 bytes where rates are per word.
const WORD_BYTES: f64 = 8.0;

/// An event's process, thread, time and sampling rate.
#[derive(Clone, Copy, Debug)]
pub struct EventAt {
    /// Index of the process in the trace.
    pub process: u32,
    /// Number of the thread in its process.
    pub thread: u32,
    /// Ticks of the process's clock.
    pub ticks: u64,
    /// The retained time of its process.
    pub retained: RetainedTicks,
    /// The rate at which the thread recorded then.
    pub rate: RateId,
}

/// The time whose events are retained, in ticks of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetainedTicks {
    from: u64,
    to: u64,
}

impl RetainedTicks {
    /// All of it.
    pub const ALL: RetainedTicks = RetainedTicks { from: 0, to: u64::MAX };

    fn contains(self, ticks: u64) -> bool {
        self.from <= ticks && (ticks < self.to || self.to == u64::MAX)
    }

    fn has_born(self, block: &Block, freed_ticks: u64) -> bool {
        self.from <= freed_ticks.saturating_sub(block.age_ticks)
    }
}

/// Which blocks and events are retained.
#[derive(Clone, Debug)]
pub struct Thin {
    /// How probable it is for a word to be drawn; `None` keeps all.
    rate: Option<f64>,
    /// The time whose events are retained, ns since the trace's start.
    time_ns: Range<u64>,
    seed: u64,
    /// Bytes between two samples that the trace already has, by the number of its rate. Of one process or
    /// of all, as a rate that is finer than any of them cannot be had.
    means: BTreeMap<u8, u64>,
}

impl Thin {
    /// Keeps words with the chance `rate` (all if `None`) and events in `time_ns`, ns since the trace's start.
    /// `means` are the mean bytes between samples of the rates that the trace already has.
    pub fn new(rate: Option<f64>, time_ns: Range<u64>, seed: u64, means: BTreeMap<u8, u64>) -> Thin {
        // Each rate draws by itself: a trace that was thinned before is not thinned by the same numbers.
        let seed = mix(seed ^ rate.map_or(0, f64::to_bits));
        Thin { rate, time_ns, seed, means }
    }

    /// Bytes between two samples in the result; 0 when no block is dropped by chance.
    pub fn mean_bytes(&self) -> u64 {
        self.rate.map_or(0, |rate| (WORD_BYTES / rate).round().max(1.0) as u64)
    }

    /// The retained time in the ticks of a process, in a trace that starts at `start_ns`.
    pub fn retained_ticks(&self, clock: &Clock, start_ns: u64) -> RetainedTicks {
        let tick = |ns| match ns {
            0 => 0,
            u64::MAX => u64::MAX,
            ns => clock.first_tick_at(start_ns.saturating_add(ns)),
        };
        RetainedTicks { from: tick(self.time_ns.start), to: tick(self.time_ns.end) }
    }

    /// Whether a part of the time is retained.
    pub(super) fn has_time(&self) -> bool {
        self.time_ns != (0..u64::MAX)
    }

    /// When the retained time begins, in a trace that begins at `begin_ns`.
    pub(super) fn begin_ns(&self, begin_ns: u64) -> u64 {
        begin_ns.saturating_add(self.time_ns.start)
    }

    /// Whether a block of a table is retained: as at the event that allocated it.
    pub(super) fn has_live(&self, process: u32, block: &LiveBlock, retained: RetainedTicks) -> bool {
        let birth = BlockIdentity { thread: block.thread.0, ticks: block.birth_ticks };
        retained.contains(birth.ticks) && self.retains(process, birth, block.size_bytes, block.rate)
    }

    /// Whether a moment lies within the retained time.
    pub fn is_in_time(&self, ns: u64) -> bool {
        self.time_ns.contains(&ns)
    }

    /// A number from 0 to 1 that belongs to a name.
    fn chance(&self, name: [u64; 3]) -> f64 {
        let mixed = name.into_iter().fold(self.seed, |state, part| mix(state ^ part));
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Whether a block is retained that was drawn at a rate.
    fn retains(&self, process: u32, birth: BlockIdentity, size_bytes: u64, rate: RateId) -> bool {
        if self.rate.is_none() {
            return true;
        }
        let drawn = |mean: u64| -(-(size_bytes as f64) / mean.max(1) as f64).exp_m1();
        let before =
            self.means.get(&rate.0).filter(|_| rate != RateId::FULL).map_or(1.0, |mean| drawn(*mean));
        let chance = drawn(self.mean_bytes()) / before;
        self.chance([u64::from(process), u64::from(birth.thread), birth.ticks]) < chance
    }

    /// How many of an object's samples are retained when `part` of all are.
    pub fn samples(&self, id: ObjectId, samples: i64, part: f64) -> i64 {
        if part >= 1.0 {
            return samples;
        }
        // Objects with more samples than this are none that anyone allocated: their mean will do.
        const DRAWN_MAX: i64 = 1 << 16;
        if samples > DRAWN_MAX {
            return (samples as f64 * part).round() as i64;
        }
        let drawn = (0..samples).filter(|n| self.chance([id.0 as u64, *n as u64, 0]) < part);
        drawn.count() as i64
    }

    /// What is retained of an event: all, one of the two blocks of a realloc, or nothing.
    pub fn event(&self, at: EventAt, event: &Event) -> Option<Event> {
        let EventAt { process, thread, ticks, retained, rate } = at;
        if !retained.contains(ticks) {
            return None;
        }
        let retains_new =
            |size_bytes| self.retains(process, BlockIdentity { thread, ticks }, size_bytes, rate);
        let retains_old = |block: &Block| {
            retained.has_born(block, ticks)
                && self.retains(process, BlockIdentity::of(block, thread, ticks), block.size_bytes, rate)
        };
        let is_retained = match *event {
            Event::Alloc { size_bytes, .. } | Event::UnknownRealloc { size_bytes, .. } => {
                retains_new(size_bytes)
            }
            Event::Free { block, .. } => retains_old(&block),
            // Each of its two blocks is retained or not for itself.
            Event::Realloc { call, old, size_bytes, stack } => {
                return match (retains_old(&old), retains_new(size_bytes)) {
                    (true, true) => Some(Event::Realloc { call, old, size_bytes, stack }),
                    (true, false) => Some(Event::Free { call, block: old }),
                    (false, true) => Some(Event::Alloc { call, size_bytes, stack, align_log2: 0 }),
                    (false, false) => None,
                };
            }
            // A recorder that draws samples does not see what happens to other blocks.
            Event::UnknownFree { .. } => self.rate.is_none(),
            Event::Failed { .. }
            | Event::Lost { .. }
            | Event::Rate { .. }
            | Event::Note { .. }
            | Event::Mapping(_) => true,
            Event::Took { .. } => false, // follows the event before it; the caller decides
        };
        is_retained.then_some(*event)
    }
}

/// The finalizer of SplitMix64: every bit of the input changes half of the output's.
fn mix(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapscribe_wire::ids::StackId;
    use heapscribe_wire::record::Call;

    fn at(thread: u32, ticks: u64) -> EventAt {
        EventAt { process: 0, thread, ticks, retained: RetainedTicks::ALL, rate: RateId::FULL }
    }

    /// Of blocks of 64 bytes, thinned to a sample every 512 bytes, 11.75 % stay: 1 - exp(-1/8). Thinning
    /// them again from there to every 4096 leaves what thinning at once would.
    #[test]
    fn the_rate_is_the_part_of_blocks_retained() {
        let check = |means: BTreeMap<u8, u64>, rate: RateId, per_word: f64, expected: f64| {
            let thin = Thin::new(Some(per_word), 0..u64::MAX, 7, means);
            let retains = |ticks: &u64| thin.retains(0, BlockIdentity { thread: 1, ticks: *ticks }, 64, rate);
            let part = (0..200_000).filter(retains).count() as f64 / 200_000.0;
            assert!((part - expected).abs() < 0.003, "{part} {expected}");
        };
        check(BTreeMap::new(), RateId::FULL, 8.0 / 512.0, 0.1175);
        check(BTreeMap::from([(1, 512)]), RateId(1), 8.0 / 4096.0, 0.01550 / 0.1175);
        check(BTreeMap::from([(1, 512)]), RateId(1), 8.0 / 512.0, 1.0);
    }

    #[test]
    fn thinning_twice_leaves_what_thinning_once_does() {
        let first = Thin::new(Some(8.0 / 512.0), 0..u64::MAX, 1, BTreeMap::new());
        let second = Thin::new(Some(8.0 / 4096.0), 0..u64::MAX, 1, BTreeMap::from([(1, 512)]));
        let of_object = |thin: &Thin, n: i64, part: f64| thin.samples(ObjectId(n), 1, part);
        let (mut blocks, mut samples) = (0.0, 0);
        for n in 0..400_000 {
            let birth = BlockIdentity { thread: 1, ticks: n };
            if first.retains(0, birth, 64, RateId::FULL) && second.retains(0, birth, 64, RateId(1)) {
                blocks += 1.0;
            }
            if of_object(&first, n as i64, 0.1) == 1 {
                samples += of_object(&second, n as i64, 0.1);
            }
        }
        // 1 - exp(-64/4096) of the blocks, a hundredth of the samples.
        assert!((blocks / 400_000.0 - 0.01550_f64).abs() < 0.001, "{blocks}");
        assert!((samples - 4000).abs() < 300, "{samples}");
    }

    #[test]
    fn blocks_of_a_time_are_those_that_are_born_in_it() {
        let thin = Thin::new(None, 100..200, 1, BTreeMap::new());
        let retained = thin.retained_ticks(&Clock::default(), 0);
        let (stack, call) = (StackId(1), Call::Malloc);
        let old = |age_ticks| Block { size_bytes: 8, stack, age_ticks, birth_thread: None };
        let alloc = Event::Alloc { call, size_bytes: 9, stack, align_log2: 0 };
        let free = |age_ticks| Event::Free { call, block: old(age_ticks) };
        let realloc = |age_ticks| Event::Realloc { call, old: old(age_ticks), size_bytes: 9, stack };
        let check = |ticks, event: Event, expected: Option<Event>| {
            let at = EventAt { retained, ..at(1, ticks) };
            assert_eq!(thin.event(at, &event), expected, "{event:?} at {ticks}");
        };
        for (ticks, is_in) in [(99, false), (100, true), (199, true), (200, false)] {
            check(ticks, alloc, is_in.then_some(alloc));
        }
        check(150, free(50), Some(free(50)));
        check(150, free(51), None);
        check(150, realloc(50), Some(realloc(50)));
        check(150, realloc(51), Some(alloc));
        check(150, free(151), None);
    }

    #[test]
    fn a_block_and_its_end_are_judged_alike() {
        let thin = Thin::new(Some(0.01), 0..u64::MAX, 7, BTreeMap::new());
        for birth in 1..2000 {
            let stack = StackId(1);
            let call = Call::Malloc;
            let alloc = Event::Alloc { call, size_bytes: 500, stack, align_log2: 0 };
            let block = Block {
                size_bytes: 500,
                stack,
                age_ticks: 77,
                birth_thread: Some(heapscribe_wire::ids::ThreadId(3)),
            };
            let free = Event::Free { call: Call::Free, block };
            let retains_alloc = thin.event(at(3, birth), &alloc).is_some();
            let retains_free = thin.event(at(9, birth + 77), &free).is_some();
            assert_eq!(retains_alloc, retains_free);
        }
    }
}
