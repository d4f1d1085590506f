//! What a finding is: its kind, how bad it is, how sure, its figures and the stacks that it is about.

use super::limits;
use crate::answer::{Amount, NodeId};

/// A kind of finding. The order is that of findings of one severity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Sampling was too coarse for the figures.
    Sampling,
    /// Never freed, and rising through the second half of a process's life.
    Growth,
    /// Left at exit.
    Leak,
    /// The heap rose steeply to its peak and fell again.
    Burst,
    /// Threads whose arenas keep more than the heap ever took.
    Arenas,
    /// Resident memory far above the heap.
    ResidentExcess,
    /// Memory held by what one section allocated.
    Section,
    /// Large blocks that were freed only at the end.
    LateFree,
    /// Waste by rounding or alignment.
    Rounding,
    /// Blocks that were freed before their thread allocated again.
    Temporary,
    /// Reallocs by small steps.
    ReallocGrowth,
    /// Blocks freed by other threads.
    ForeignFree,
}

impl Kind {
    /// All of them, in their order.
    pub const ALL: [Kind; 12] = [
        Kind::Sampling,
        Kind::Growth,
        Kind::Leak,
        Kind::Burst,
        Kind::Arenas,
        Kind::ResidentExcess,
        Kind::Section,
        Kind::LateFree,
        Kind::Rounding,
        Kind::Temporary,
        Kind::ReallocGrowth,
        Kind::ForeignFree,
    ];

    /// The one with this name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The fewest bytes that one is about: samples that find less for sure exclude it. `u64::MAX` where bytes that no
    /// sample hit hide none.
    pub fn bytes_min(self) -> u64 {
        match self {
            Kind::Sampling | Kind::Arenas | Kind::ResidentExcess => u64::MAX,
            Kind::Growth => limits::GROWTH_BYTES,
            Kind::Leak => limits::LEAK_BYTES,
            Kind::Burst => limits::BURST_RISE_BYTES,
            Kind::Section => limits::SECTION_BYTES,
            Kind::LateFree => limits::LATE_FREE_BLOCK_BYTES,
            Kind::Rounding => limits::ROUNDING_BYTES,
            Kind::ReallocGrowth => limits::SMALL_STEPS_COPIED_BYTES,
            // Blocks of one byte.
            Kind::Temporary => limits::TEMPORARY_BLOCKS,
            Kind::ForeignFree => limits::FOREIGN_FREE_BLOCKS,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Sampling => "sampling",
            Kind::Growth => "growth",
            Kind::Leak => "leak",
            Kind::Burst => "burst",
            Kind::Arenas => "arenas",
            Kind::ResidentExcess => "resident-excess",
            Kind::Section => "section",
            Kind::LateFree => "late-free",
            Kind::Rounding => "rounding",
            Kind::Temporary => "temporary",
            Kind::ReallocGrowth => "realloc-growth",
            Kind::ForeignFree => "foreign-free",
        }
    }
}

/// Who held most before the heap rose to its peak, by its stack with most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct There {
    /// That stack.
    pub node: NodeId,
    /// What it held then.
    pub before_bytes: u64,
    /// What it held at the peak.
    pub at_peak_bytes: u64,
}

/// How much a finding matters, or how sure it is; the most first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "each is what its name says")]
pub enum Level {
    High,
    Medium,
    Low,
}

impl Level {
    /// All of them, the least first.
    pub const ALL: [Level; 3] = [Level::Low, Level::Medium, Level::High];

    /// The one with this name.
    pub fn named(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Level::High => "high",
            Level::Medium => "medium",
            Level::Low => "low",
        }
    }

    /// One level less.
    pub(super) fn less(self) -> Level {
        if self == Level::High { Level::Medium } else { Level::Low }
    }
}

/// The figures of a finding.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the fields are named for what they count, with their units")]
pub enum Evidence {
    /// The mean to sample with instead is 0 where only a recording of every block is finer.
    Sampling {
        samples: u64,
        peak_bytes: u64,
        low_bytes: u64,
        high_bytes: u64,
        wanted_mean_bytes: u64,
    },
    /// The rate is a straight line's through what was held at the steps of the second half.
    Growth {
        process: usize,
        from_bytes: u64,
        to_bytes: u64,
        over_ns: u64,
        bytes_per_second: f64,
        error: f64,
        rising_steps: u64,
    },
    /// Live when its process ended, or when this signal killed it, without what may stay until then.
    Leak {
        left: Amount,
        on_purpose: Amount,
        owners: u64,
        oldest_ns: Option<u64>,
        killed_by: Option<i32>,
    },
    /// From a moment on to the peak; what was live at that moment is `there_bytes`, and who held most of it `there`.
    Burst {
        rose_bytes: u64,
        within_ns: u64,
        peak_bytes: u64,
        there_bytes: u64,
        there: Option<There>,
    },
    /// One heap cannot have taken more than `heap_bytes_max`; with an arena for each of these threads it can.
    Arenas {
        process: usize,
        threads: u64,
        anonymous_bytes: u64,
        time_ns: u64,
        heap_bytes_max: u64,
        arenas_bytes_max: u64,
    },
    /// The heap cannot have kept more memory of freed blocks than `freed_bytes_max`.
    ResidentExcess {
        anonymous_bytes: u64,
        heap_bytes: u64,
        time_ns: u64,
        freed_bytes_max: u64,
    },
    /// Blocks of stacks that allocate nowhere else.
    Section {
        section: usize,
        at_peak: Amount,
        left: Amount,
    },
    /// Of one process, for most of whose life all of these blocks were live together.
    LateFree {
        process: usize,
        freed: Amount,
        largest_bytes: u64,
    },
    /// Exact where all blocks of the stacks are of one size, or all that they allocated was live.
    Rounding {
        at_peak: Amount,
        heap_bytes: u64,
        wasted_bytes: u64,
        over_aligned: bool,
        is_exact: bool,
    },
    Temporary {
        temporary: Amount,
        allocations: u64,
        timed_calls: u64,
        took_ns: u64,
    },
    ReallocGrowth {
        steps: u64,
        copied_bytes_max: u64,
        largest_bytes: u64,
    },
    ForeignFree {
        freed: u64,
        by_others: u64,
    },
}

/// Stacks of one owner that a finding is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Culprit {
    /// The stack with most of it.
    pub node: NodeId,
    /// How many stacks of this owner there are.
    pub stacks: u64,
    /// What the finding is about, of all of them.
    pub amount: Amount,
}

/// A finding.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Which kind.
    pub kind: Kind,
    /// How much it matters.
    pub severity: Level,
    /// How sure it is.
    pub confidence: Level,
    /// Its figures.
    pub evidence: Evidence,
    /// Whom it is about, the worst first.
    pub culprits: Vec<Culprit>,
    /// How many owners more it is about.
    pub more: u64,
}
