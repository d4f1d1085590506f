//! What losses leave of estimates: their ranges tell the chance in what was sampled, and nothing of what was lost besides.
//! Of a sampled program with a full table a report said that 270 to 365 blocks were never freed, of 50,466.

use crate::answer::estimate::{Estimate, Figure};
use crate::answer::{Bounds, FigureBounds, Range};

/// How losses touch estimates, of a process or of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EstimateLosses {
    pub(super) is_any: bool,
    /// Whether there may have been more than was seen, of anything.
    pub(super) is_open: bool,
    /// Whether at least what was found live at the end was never freed.
    pub(super) has_least: bool,
}

impl Default for EstimateLosses {
    /// Of nothing lost.
    fn default() -> Self {
        EstimateLosses { is_any: false, is_open: false, has_least: true }
    }
}

impl EstimateLosses {
    /// Of processes of which a ring has left nothing: what they did and never freed is in no estimate.
    pub(crate) fn of_evicted() -> EstimateLosses {
        EstimateLosses { is_any: true, is_open: true, has_least: true }
    }

    /// Adds those of another process.
    pub(crate) fn add(&mut self, other: EstimateLosses) {
        self.is_any |= other.is_any;
        self.is_open |= other.is_open;
        self.has_least &= other.has_least;
    }

    /// Between what figures lie whose estimates these are: the ends of their ranges, as far as they hold beside the losses.
    /// Frees of blocks without a slot are not seen, so the peak of what was seen is not too low.
    pub(crate) fn bounds(&self, of: [&Estimate; 4]) -> Option<FigureBounds> {
        let [allocated, freed, peak, leaked] = of;
        let ends = |estimate: &Estimate, has_low: bool, has_high: bool| {
            let range = |figure: &Figure| Range {
                low: if has_low { figure.low.max(0.0) as u64 } else { 0 },
                high: (has_high && figure.high.is_finite()).then(|| figure.high.ceil() as u64),
            };
            Bounds { blocks: range(&estimate.blocks), bytes: range(&estimate.bytes) }
        };
        let leaked = ends(leaked, self.has_least, false);
        let peak = Bounds {
            blocks: Range { low: 0, high: None },
            bytes: Range { low: leaked.bytes.low, ..ends(peak, false, !self.is_open).bytes },
        };
        self.is_any.then(|| FigureBounds {
            allocated: ends(allocated, true, !self.is_open),
            freed: ends(freed, true, false),
            peak,
            leaked,
            stacks: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::losses::Losses;
    use heapscribe_wire::head::{DROP_COUNTERS, LossReason};

    /// What is lost by this reason leaves of estimates between 8 and 10 by the bytes of allocated, freed, peak, leaked.
    fn check(reason: LossReason, has_table: bool, expected: [(u64, Option<u64>); 4]) {
        let mut counters = [0; DROP_COUNTERS];
        counters[reason as usize] = 3;
        let events = LossReason::lost_events(&counters);
        let losses = Losses::of(&counters, events, 0).touch_estimates(has_table);
        let figure = Figure { value: 9.0, variance: 1.0, low: 8.0, high: 10.0 };
        let of = &Estimate { samples: 9, blocks: figure, bytes: figure };
        let bounds = losses.bounds([of; 4]).unwrap();
        let bytes = [bounds.allocated, bounds.freed, bounds.peak, bounds.leaked]
            .map(|of| (of.bytes.low, of.bytes.high));
        assert_eq!(bytes, expected, "{reason:?}");
    }

    #[test]
    fn ranges_hold_as_far_as_they_can() {
        let at_least = |low| (low, None);
        let of_table = [(8, Some(10)), at_least(8), (8, Some(10)), at_least(8)];
        check(LossReason::LiveTable, true, of_table);
        check(LossReason::LiveTable, false, [(8, Some(10)), at_least(8), (0, Some(10)), at_least(0)]);
        check(LossReason::LogFull, true, [at_least(8), at_least(8), at_least(0), at_least(0)]);
        let figure = Figure { value: 9.0, variance: 1.0, low: 8.0, high: 10.0 };
        let bounds =
            EstimateLosses::of_evicted().bounds([&Estimate { samples: 9, blocks: figure, bytes: figure }; 4]);
        let leaked = bounds.unwrap().leaked.bytes;
        assert_eq!((leaked.low, leaked.high), at_least(8), "processes of which a ring has left nothing");
        let nothing = Losses::of(&[0; DROP_COUNTERS], 0, 0).touch_estimates(true);
        assert_eq!(nothing.bounds([&Estimate::default(); 4]), None);
    }
}
