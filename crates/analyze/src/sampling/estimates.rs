//! From sums over sampled blocks to estimates and the ranges that the truth lies in.

use super::weight::{Moment, Moments};
use crate::answer::Amount;
use crate::answer::estimate::{Estimate, Figure};

/// A sum over all sizes, from the samples of each class of them.
pub(crate) fn total(amount: Amount, classes: &[Moments]) -> Estimate {
    let samples = count(classes.iter().map(|class| class.samples).sum());
    let of = |value: u64, moment: fn(&Moments) -> &Moment| {
        let parts: Vec<Figure> = classes.iter().map(|class| figure(0, moment(class))).collect();
        let sum = Figure::sum(value as f64, &parts);
        let unseen: i128 = classes.iter().map(|class| moment(class).value - moment(class).own).sum();
        Figure { low: of_few(samples, value as f64 - unseen as f64, sum.low), ..sum }
    };
    Estimate {
        samples,
        blocks: of(amount.blocks, |class| &class.blocks),
        bytes: of(amount.bytes, |class| &class.bytes),
    }
}

/// A stack of fewer samples is one of many that might have been hit: it is in the answer because it was,
/// and its estimate is too high more often than not. All that is sure is what was seen.
const SAMPLES_FEW: u64 = 5;

/// The lower end of a figure: of few samples what was seen, at the most.
fn of_few(samples: u64, seen: f64, low: f64) -> f64 {
    if samples < SAMPLES_FEW { seen.min(low) } else { low }
}

/// A figure of one stack.
pub(crate) fn estimate(amount: Amount, moments: &Moments) -> Estimate {
    let samples = count(moments.samples);
    let of = |value, moment: &Moment| {
        let figure = figure(value, moment);
        let seen = figure.value - (moment.value - moment.own) as f64;
        Figure { low: of_few(samples, seen, figure.low), ..figure }
    };
    Estimate { samples, blocks: of(amount.blocks, &moments.blocks), bytes: of(amount.bytes, &moments.bytes) }
}

/// A figure of `value`, some of which was sampled; what is more than that was recorded block by block.
pub(crate) fn figure(value: u64, moment: &Moment) -> Figure {
    let at_least_0 = |moment: i128| (moment as f64).max(0.0);
    let sampled = at_least_0(moment.value);
    let exact = (value as f64 - sampled).max(0.0);
    Figure::sampled(exact, sampled, at_least_0(moment.variance), at_least_0(moment.lean))
}

fn count(samples: i64) -> u64 {
    u64::try_from(samples).unwrap_or(0)
}
