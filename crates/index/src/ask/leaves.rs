//! Which leaves, and which steps, a stretch of time has as a whole.

use std::ops::Range;

use crate::axis::Axis;
use crate::question::Span;

/// The leaves of a stretch of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Leaves {
    /// Those that lie in it as a whole.
    pub(super) whole: Range<u32>,
    /// Those that lie in it in part: at most two.
    pub(super) partial: Vec<u32>,
}

impl Leaves {
    /// Of a stretch of time.
    pub(super) fn of(span: &Span, axis: &Axis) -> Leaves {
        if span.is_empty() {
            return Leaves { whole: 0..0, partial: Vec::new() };
        }
        let (first, last) = (axis.leaf(span.from_ns), axis.leaf(span.to_ns - 1));
        let begins = span.from_ns <= axis.begin_ns(first);
        let ends = axis.end_ns(last).map_or(span.to_ns == u64::MAX, |end_ns| span.to_ns >= end_ns);
        if first == last {
            return match begins && ends {
                true => Leaves { whole: first..last + 1, partial: Vec::new() },
                false => Leaves { whole: 0..0, partial: vec![first] },
            };
        }
        let whole = first + u32::from(!begins)..last + u32::from(ends);
        let partial = [(!begins).then_some(first), (!ends).then_some(last)].into_iter().flatten().collect();
        Leaves { whole, partial }
    }

    /// The steps that lie in it as a whole.
    pub(super) fn steps(&self, axis: &Axis) -> Range<u32> {
        let per_step = axis.leaves_per_step();
        let first = self.whole.start.div_ceil(per_step);
        let end = if self.whole.end == axis.leaves() { axis.steps() } else { self.whole.end / per_step };
        if first < end && !self.whole.is_empty() { first..end } else { 0..0 }
    }

    /// The whole leaves that are in no whole step.
    pub(super) fn strips(&self, axis: &Axis) -> impl Iterator<Item = u32> {
        let in_steps = in_leaves(&self.steps(axis), axis);
        self.whole.clone().filter(move |leaf| !in_steps.contains(leaf))
    }
}

/// The leaves of these steps.
pub(super) fn in_leaves(steps: &Range<u32>, axis: &Axis) -> Range<u32> {
    let per_step = axis.leaves_per_step();
    steps.start * per_step..(steps.end * per_step).min(axis.leaves())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_of_time_has_whole_leaves_and_parts_of_two() {
        let axis = Axis::new((0..200).map(|n| n * 10).collect());
        let check = |from_ns, to_ns, whole: Range<u32>, partial: &[u32], steps: Range<u32>| {
            let leaves = Leaves::of(&Span { from_ns, to_ns }, &axis);
            assert_eq!(leaves, Leaves { whole, partial: partial.to_vec() }, "{from_ns}..{to_ns}");
            assert_eq!(leaves.steps(&axis), steps, "{from_ns}..{to_ns}");
        };
        check(0, u64::MAX, 0..200, &[], 0..4);
        check(0, 5_000, 0..199, &[199], 0..3);
        check(10, 20, 1..2, &[], 0..0);
        check(11, 19, 0..0, &[1], 0..0);
        check(11, 35, 2..3, &[1, 3], 0..0);
        check(630, u64::MAX, 63..200, &[], 1..4);
        check(641, 1_280, 65..128, &[64], 0..0);
        check(640, 1_281, 64..128, &[128], 1..2);
        check(50, 50, 0..0, &[], 0..0);
    }
}
