//! How high the heap was, step by step, as far as segments show: at the end of each step exactly, within
//! it exactly where one thread was at work and up to a bound where there were several.
//!
//! The level at a moment is the sum of all allocated less all freed up to *and including* that moment. So events of one instant have no order among them - a free on one core does not lose against
//! a malloc on another - and no order that we might choose can invent a peak.

use std::ops::Range;

use super::grid::Grid;
use super::segment::Segment;

/// A step in which something happened.
#[derive(Clone, Debug)]
pub(crate) struct StepLevel {
    pub(crate) number: u32,
    /// Level before the step.
    pub(crate) before_bytes: i64,
    /// Level after it.
    pub(crate) after_bytes: i64,
    /// No moment of the step is higher.
    pub(crate) bound_bytes: i64,
    /// Set when the bound is reached: when first.
    pub(crate) reached_ns: Option<u64>,
    /// Time of its last event.
    pub(crate) last_ns: u64,
    pub(crate) events: u64,
    /// Its segments, as indices into the slice that it was made of.
    pub(crate) segments: Range<usize>,
}

/// Brings segments into the order that [`step_levels`] wants.
pub(crate) fn sort_segments(segments: &mut [Segment]) {
    segments.sort_unstable_by_key(Segment::place);
}

/// Adds up sorted segments, step by step, from a level.
pub(crate) fn step_levels(segments: &[Segment], mut level_bytes: i64) -> Vec<StepLevel> {
    let mut steps = Vec::new();
    let mut at = 0;
    for in_step in segments.chunk_by(|a, b| a.step == b.step) {
        let step = add_up(in_step, level_bytes, at);
        level_bytes = step.after_bytes;
        at = step.segments.end;
        steps.push(step);
    }
    steps
}

/// What one thread did in a step: its segments joined.
struct Run {
    net_bytes: i64,
    rise_bytes: i64,
    rise_ns: u64,
    last_ns: u64,
}

fn add_up(segments: &[Segment], before_bytes: i64, at: usize) -> StepLevel {
    let mut step = StepLevel {
        number: segments[0].step,
        before_bytes,
        after_bytes: before_bytes,
        bound_bytes: before_bytes,
        reached_ns: None,
        last_ns: 0,
        events: 0,
        segments: at..at + segments.len(),
    };
    let (mut runs, mut first_end_ns) = (0, u64::MAX);
    // Chunks of one thread that overlap are not one run: its number stands for several threads.
    let same_thread =
        |a: &Segment, b: &Segment| (a.process, a.thread) == (b.process, b.thread) && a.last_ns < b.first_ns;
    for of_thread in segments.chunk_by(same_thread) {
        let run = join(of_thread);
        if of_thread[0].is_end() {
            first_end_ns = first_end_ns.min(run.rise_ns);
        } else {
            runs += 1;
            step.reached_ns = Some(run.rise_ns);
        }
        step.after_bytes = step.after_bytes.saturating_add(run.net_bytes);
        step.bound_bytes = step.bound_bytes.saturating_add(run.rise_bytes);
        step.last_ns = step.last_ns.max(run.last_ns);
        step.events += of_thread.iter().map(|s| u64::from(s.events)).sum::<u64>();
    }
    // What one thread did is known exactly as long as no process has ended meanwhile.
    if runs != 1 || step.reached_ns.is_some_and(|ns| first_end_ns <= ns) {
        step.reached_ns = None;
    }
    step
}

fn join(segments: &[Segment]) -> Run {
    let mut run = Run { net_bytes: 0, rise_bytes: 0, rise_ns: segments[0].first_ns, last_ns: 0 };
    for s in segments {
        let rise_bytes = run.net_bytes.saturating_add(s.rise_bytes);
        if rise_bytes > run.rise_bytes {
            run.rise_bytes = rise_bytes;
            run.rise_ns = s.rise_ns;
        }
        run.net_bytes = run.net_bytes.saturating_add(s.net_bytes);
        run.last_ns = s.last_ns;
    }
    run
}

impl StepLevel {
    /// A level that was certainly reached in this step, and a moment when it was.
    pub(crate) fn certain(&self) -> (i64, u64) {
        match self.reached_ns {
            Some(ns) if self.bound_bytes > self.before_bytes => (self.bound_bytes, ns),
            _ => (self.after_bytes, self.last_ns),
        }
    }

    /// Its range of time, ns.
    pub(crate) fn range(&self, grid: &Grid) -> Range<u64> {
        let end = if self.number + 1 == grid.steps { grid.end_ns } else { grid.begin_of(self.number + 1) };
        grid.begin_of(self.number)..end
    }
}
