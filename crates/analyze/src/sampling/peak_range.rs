//! Between what the peak lies, where blocks were sampled.
//!
//! The highest of many estimates is too high: of moments that are about as high as each other, the samples favour one.
//! The estimate at that moment is still the best for the *upper* end. The moment of the true peak does not depend on
//! the samples, so the estimate at that moment `X(t)` is an ordinary one; the highest, `max X`, is no less, and
//! neither is the upper end of its range. That is too high in 2.5 of 100 recordings at most.
//!
//! The *lower* end needs a moment that was not chosen by what is then estimated. So the sample is split into two
//! halves ([`Half`]), each of which is a sample of its own that knows nothing of the other. One of them chooses the
//! moment when it has most bytes, the other says how much was live then: right on average for that moment, and no more
//! was live at it than at the true peak. That is done both ways, and the higher of the two lower ends counts, each of
//! which is too high in 1.25 of 100 recordings (sample splitting and cross-fitting: Cox, "A note on data-splitting for
//! the evaluation of significance levels", 1975; Chernozhukov and others, "Double/debiased machine learning", 2018).
//! Numbers of blocks and figures of single stacks may be higher at another moment than at the peak: of these the lower
//! of the two lower ends counts.

use super::weight::{Half, Moment};
use crate::answer::estimate::Figure;

/// 98.75 % of a normal distribution lie below so many standard deviations.
const Z: f64 = 2.241_402_727_604_947;

/// What one figure was at the moment that a half of the sample has chosen.
#[derive(Clone, Debug)]
pub(crate) struct AtChosen {
    pub(crate) chosen_by: Half,
    /// What all of the sample says it was.
    pub(crate) value: f64,
    /// What is sampled of that.
    pub(crate) sampled: Moment,
}

impl AtChosen {
    /// The lower end of the range that the other half gives.
    pub(crate) fn least(&self) -> f64 {
        let half = &self.sampled.halves[self.chosen_by.other() as usize];
        let exact = (self.value - self.sampled.value.max(0) as f64).max(0.0);
        exact + least_of(half.value.max(0) as f64, half.variance.max(0) as f64)
    }
}

/// The lower end of the range of a sum with this variance: that of a Poisson count of as many typical samples (Fay and
/// Feuer, "Confidence intervals for directly standardized rates", 1997; by Wilson and Hilferty's formula). For few
/// samples it is surer than that of [`crate::answer::estimate`], also when these are of many sizes.
fn least_of(sum: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return sum;
    }
    let samples = sum * sum / variance;
    sum * (1.0 - 1.0 / (9.0 * samples) - Z / (3.0 * samples.sqrt())).max(0.0).powi(3)
}

/// The figure at the peak, of which the two halves of the sample have these least values.
pub(crate) fn of_peak(figure: Figure, least: f64) -> Figure {
    Figure { low: least.min(figure.value), ..figure }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::weight::HalfMoment;

    /// What so many samples say that each stand for 1,000, in the half that did not choose.
    fn check(exact: f64, in_other: i128, expected: f64) {
        let half = |n: i128| HalfMoment { value: n * 1000, variance: n * 1_000_000 };
        for (chosen_by, halves) in
            [(Half::First, [half(99), half(in_other)]), (Half::Second, [half(in_other), half(99)])]
        {
            let sampled = Moment { value: 20_000, halves, ..Moment::default() };
            let at = AtChosen { chosen_by, value: exact + 20_000.0, sampled };
            assert!((at.least() - expected).abs() < 0.5, "{}", at.least());
        }
    }

    #[test]
    fn the_half_that_did_not_choose_decides() {
        check(0.0, 10, 4263.2);
        check(0.0, 1, 2.7);
        check(0.0, 0, 0.0);
        check(500.0, 10, 4763.2);
    }

    #[test]
    fn no_estimate_is_below_its_range() {
        let figure = Figure { value: 10.0, variance: 4.0, low: 6.0, high: 15.0 };
        assert_eq!(of_peak(figure, 12.0).low, 10.0);
        assert_eq!(of_peak(figure, 3.0), Figure { low: 3.0, ..figure });
    }
}
