//! The heap in the steps of a timeline: its level, and what was allocated and freed. A few steps of the grid are one of
//! them.

use super::grid::Grid;
use super::level::StepLevel;
use super::segment::Segment;
use crate::answer::Step;

/// What the levels of a recording are: a grid, so many of whose steps are one of the timeline, and segments on it.
#[derive(Clone, Copy)]
pub(crate) struct HeapLevels<'a> {
    pub(crate) grid: &'a Grid,
    pub(crate) finer: u32,
    /// At the begin of the grid.
    pub(crate) before_bytes: i64,
    pub(crate) levels: &'a [StepLevel],
    /// Those that the levels were made of.
    pub(crate) segments: &'a [Segment],
}

impl HeapLevels<'_> {
    /// The steps of a timeline; the one of the peak is as high as that.
    pub(crate) fn steps(&self, peak_ns: u64, peak_bytes: i64) -> Vec<Step> {
        let mut steps = vec![Step::default(); self.grid.steps.div_ceil(self.finer) as usize];
        let (mut level, mut fine) = (self.before_bytes, self.levels.iter().peekable());
        for (number, step) in steps.iter_mut().enumerate() {
            let mut most = level;
            while let Some(part) = fine.next_if(|part| (part.number / self.finer) as usize == number) {
                most = most.max(part.certain().0).max(part.after_bytes);
                level = part.after_bytes;
                self.segments[part.segments.clone()].iter().for_each(|segment| add(step, segment));
            }
            step.heap_max_bytes = at_least_0(most);
            step.heap_end_bytes = at_least_0(level);
        }
        let of_peak = self.grid.step_of(peak_ns) / self.finer;
        if let Some(step) = steps.get_mut(of_peak as usize) {
            step.heap_max_bytes = step.heap_max_bytes.max(at_least_0(peak_bytes));
        }
        steps
    }
}

fn add(step: &mut Step, segment: &Segment) {
    step.allocations += segment.allocations;
    step.allocated_bytes = step.allocated_bytes.wrapping_add(segment.allocated_bytes);
    step.frees += segment.frees;
    step.freed_bytes = step.freed_bytes.wrapping_add(segment.freed_bytes());
}

/// A level below 0 is one of a recording that lacks allocations.
pub(crate) fn at_least_0(bytes: i64) -> u64 {
    u64::try_from(bytes).unwrap_or(0)
}
