//! Levels at moments, in the order of time, to a curve of equal steps.

use super::answer::{CurveStep, HeapCurve, Level};

/// A curve as far as it has come.
pub(super) struct CurveBuilder {
    curve: HeapCurve,
    /// The step of the last moment.
    step: usize,
    live_bytes: u64,
}

impl CurveBuilder {
    /// Room for this time in at most this many steps.
    pub(super) fn new(duration_ns: u64, steps_max: u32) -> CurveBuilder {
        // The last moment belongs to the last step.
        let step_ns = (duration_ns / u64::from(steps_max.max(1))).saturating_add(1);
        let steps = vec![CurveStep::default(); (duration_ns / step_ns) as usize + 1];
        CurveBuilder { curve: HeapCurve { step_ns, steps, ..HeapCurve::default() }, step: 0, live_bytes: 0 }
    }

    /// Live bytes change.
    pub(super) fn live(&mut self, ns: u64, bytes: u64) {
        self.go_to(ns);
        let level = Level { ns, bytes };
        if self.curve.changes == 0 {
            self.curve.first = level;
        }
        if self.curve.changes == 0 || bytes > self.curve.peak.bytes {
            self.curve.peak = level;
        }
        self.curve.last = level;
        self.curve.changes += 1;
        self.live_bytes = bytes;
        let step = &mut self.curve.steps[self.step];
        step.live_max_bytes = step.live_max_bytes.max(bytes);
    }

    /// The goal changes.
    pub(super) fn goal(&mut self, ns: u64, bytes: u64) {
        self.go_to(ns);
        self.curve.goal_bytes = bytes;
    }

    /// Ends steps up to the one of a moment. What is live when a step begins counts in it.
    fn go_to(&mut self, ns: u64) {
        let to = ((ns / self.curve.step_ns) as usize).min(self.curve.steps.len() - 1);
        while self.step < to {
            self.end_step();
            self.step += 1;
            self.curve.steps[self.step].live_max_bytes = self.live_bytes;
        }
    }

    fn end_step(&mut self) {
        let step = &mut self.curve.steps[self.step];
        step.live_end_bytes = self.live_bytes;
        step.goal_bytes = self.curve.goal_bytes;
    }

    pub(super) fn finish(mut self) -> HeapCurve {
        self.go_to(u64::MAX);
        self.end_step();
        self.curve
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_lasts_until_the_next_one() {
        let mut curve = CurveBuilder::new(99, 10);
        curve.live(25, 7);
        curve.live(26, 3);
        curve.goal(31, 50);
        curve.live(99, 9);
        let curve = curve.finish();
        let steps: Vec<_> =
            curve.steps.iter().map(|s| (s.live_max_bytes, s.live_end_bytes, s.goal_bytes)).collect();
        let rest = [(3, 3, 50); 6];
        assert_eq!(steps, [&[(0, 0, 0), (0, 0, 0), (7, 3, 0)][..], &rest, &[(9, 9, 50)]].concat());
        assert_eq!((curve.first, curve.peak), (Level { ns: 25, bytes: 7 }, Level { ns: 99, bytes: 9 }));
        assert_eq!((curve.step_ns, curve.changes, curve.goal_bytes), (10, 3, 50));
    }

    #[test]
    fn no_time_is_one_step() {
        let mut curve = CurveBuilder::new(0, 1000);
        curve.live(0, 5);
        assert_eq!(curve.finish().steps, [CurveStep { live_max_bytes: 5, live_end_bytes: 5, goal_bytes: 0 }]);
        assert_eq!(CurveBuilder::new(u64::MAX, 1).finish().steps.len(), 2);
    }
}
