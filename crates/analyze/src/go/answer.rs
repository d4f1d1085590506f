//! Answers about a Go trace: plain data. A moment is in ns since the first event. Where the file ends before
//! it says how long a tick is, ns are ticks, see [`GoAnswer::has_clock`].

use crate::answer::{Amount, LifetimeClass};

/// All that is answered.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GoAnswer {
    /// Which Go wrote the trace.
    pub version: String,
    /// Whether times are ns; else they are ticks of the processor's clock.
    pub has_clock: bool,
    /// Ticks of the first event.
    pub begin_ticks: u64,
    /// From the first event to the last.
    pub duration_ns: u64,
    /// Events.
    pub events: u64,
    /// Samples of the processor, which are only counted.
    pub cpu_samples: u64,
    /// Generations.
    pub generations: u64,
    /// The heap over time.
    pub curve: HeapCurve,
    /// Collections.
    pub collections: Collections,
    /// Stops of the world by reason, those that took longest first.
    pub stops: Vec<Stop>,
    /// Looking for dead blocks.
    pub sweeps: Work,
    /// Bytes that were looked through.
    pub swept_bytes: u64,
    /// Bytes that were freed.
    pub reclaimed_bytes: u64,
    /// Help with marking that goroutines had to give because they allocated.
    pub assists: Work,
    /// How many goroutines may run at a time, as it was last; 0 when the trace does not say.
    pub procs: u64,
    /// Single objects, when the experiment was on.
    pub objects: Option<Objects>,
}

/// Live bytes and the collector's goal in equal steps of time, for reports and plots.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeapCurve {
    /// Length of a step.
    pub step_ns: u64,
    /// The steps.
    pub steps: Vec<CurveStep>,
    /// How often the live bytes changed.
    pub changes: u64,
    /// The first that is known.
    pub first: Level,
    /// The most; of several equal ones the first.
    pub peak: Level,
    /// The last.
    pub last: Level,
    /// The last goal; 0 when the trace does not say.
    pub goal_bytes: u64,
}

/// Live bytes at a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Level {
    /// When.
    pub ns: u64,
    /// Bytes.
    pub bytes: u64,
}

/// One step of a curve. All 0 before anything is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CurveStep {
    /// Most live bytes in it.
    pub live_max_bytes: u64,
    /// Live bytes at its end.
    pub live_end_bytes: u64,
    /// The goal at its end.
    pub goal_bytes: u64,
}

/// Pieces of work of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// How many were done.
    pub count: u64,
    /// How long all of them took.
    pub total_ns: u64,
    /// How long the longest took.
    pub longest_ns: u64,
    /// When the longest began.
    pub longest_at_ns: u64,
}

impl Work {
    pub(crate) fn add(&mut self, begin_ns: u64, end_ns: u64) {
        let took_ns = end_ns.saturating_sub(begin_ns);
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(took_ns);
        if self.count == 1 || took_ns > self.longest_ns {
            (self.longest_ns, self.longest_at_ns) = (took_ns, begin_ns);
        }
    }
}

/// Stops of the world for one reason.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stop {
    /// Why, in Go's words.
    pub reason: String,
    /// How often and how long.
    pub work: Work,
}

/// What the collector did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Collections {
    /// All collections that were seen from their begin to their end.
    pub work: Work,
    /// The first ones.
    pub list: Vec<Collection>,
    /// Collections that did not end in the trace, or began before it.
    pub partial: u64,
}

/// A collection: marking, from the first stop of the world to the second.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Collection {
    /// When it began.
    pub begin_ns: u64,
    /// When all was marked.
    pub end_ns: u64,
    /// Live bytes when it began.
    pub before_bytes: u64,
    /// Live bytes when all was marked.
    pub after_bytes: u64,
    /// The goal that was set then; 0 when the trace ends before.
    pub goal_bytes: u64,
}

/// Single objects.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Objects {
    /// Those that were there when the trace began.
    pub there: Amount,
    /// Those that were allocated.
    pub allocated: Amount,
    /// Those that were swept.
    pub freed: Amount,
    /// Those that were left at the end.
    pub live: Amount,
    /// Most bytes, and when.
    pub peak: Level,
    /// By type, those with most bytes first.
    pub types: Vec<TypeSums>,
    /// By type and by what the goroutine began with that allocated them.
    pub allocators: Vec<Allocator>,
    /// How long objects that were allocated in the trace took to be swept.
    pub lifetimes: Vec<LifetimeClass>,
    /// Objects in no span that is known, whose bytes count as none.
    pub without_size: u64,
    /// Objects that were swept although nothing was known of them.
    pub unknown_frees: u64,
    /// Objects that another one was allocated in the place of.
    pub replaced: u64,
}

/// Objects of a type.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TypeSums {
    /// Its name; empty for memory that has no type, as texts and buffers.
    pub name: Vec<u8>,
    /// Those that were there when the trace began.
    pub there: Amount,
    /// Those that were allocated.
    pub allocated: Amount,
    /// Those that were swept.
    pub freed: Amount,
    /// Those that were left at the end.
    pub live: Amount,
    /// Time from allocation to sweep, of those of which both are in the trace.
    pub lived: Work,
}

/// Objects of a type that goroutines of one kind allocated.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Allocator {
    /// The function that the goroutine began with; `None` when it is not known, or the objects were there
    /// before the trace.
    pub goroutine: Option<Vec<u8>>,
    /// The type, by its place in [`Objects::types`].
    pub type_index: usize,
    /// What was allocated in the trace.
    pub allocated: Amount,
    /// What was there when objects held most bytes.
    pub at_peak: Amount,
    /// What was left at the end.
    pub live: Amount,
}
