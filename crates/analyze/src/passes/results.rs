//! What the passes find out, before it becomes an answer.

use super::pools::PoolsHeld;
use crate::peak::{Height, Holding, LiveEnd};
use crate::sums::ProcessSums;
use crate::timeline::{Grid, Segment, StepLevel};

/// What the passes found out.
pub(crate) struct PassResults {
    pub(crate) grid: Grid,
    /// Moment 0, CLOCK_MONOTONIC ns; not after the begin of the grid.
    pub(crate) begin_ns: u64,
    /// Steps of the grid in one of the timeline.
    pub(crate) finer: u32,
    pub(crate) peak: Height,
    /// When it rose steeply to its peak.
    pub(crate) ascent: Option<Height>,
    /// What was live at the begin of the grid.
    pub(crate) before_bytes: i64,
    pub(crate) steps: Vec<StepLevel>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) processes: Vec<ProcessResults>,
}

/// What the passes found out about one process.
pub(crate) struct ProcessResults {
    pub(crate) sums: ProcessSums,
    pub(crate) peak: Height,
    /// Who held what at its own peak.
    pub(crate) held: Holding,
    /// Who held what at the peak of all, nobody when it had ended by then; none where that is the same.
    pub(crate) held_at_common: Option<Holding>,
    /// Who held what when each half of the sample has its peak of all, nobody when it had ended by then; none where
    /// nothing was sampled.
    pub(crate) held_at_halves: Option<[Holding; 2]>,
    /// Who held what when the heap of all began to rise to its peak.
    pub(crate) held_at_ascent: Option<Holding>,
    /// Half of its life, ns.
    pub(crate) half_life_ns: u64,
    /// The highest moment of its pools.
    pub(crate) pools_peak: Height,
    /// Of its pools, where blocks were sampled: what was live then, and when each half of the sample has its peak.
    pub(crate) pools_held: Option<PoolsHeld>,
    /// The heap's size at the moments of its marks.
    pub(crate) at_marks: Vec<i64>,
    /// First and last moment of its events, ns.
    pub(crate) span: Option<(u64, u64)>,
    /// Who held what at its end, where a ring has evicted events and there is no table of that.
    pub(crate) left: Option<Holding>,
    /// What was live at its end, where there is a table of that.
    pub(crate) live_end: Option<LiveEnd>,
}
