//! From sums over sampled blocks to estimates and the ranges that the truth lies in.

use super::weight::{Moment, Moments};
use crate::answer::Amount;
use crate::answer::estimate::{Estimate, Figure, SELDOM_MISSED};

/// Sampled blocks, and those that they are a part of: the freed ones of the allocated ones.
///
/// The whole tells what may have gone unseen of the part. Where its small blocks, which stand for most, are not among
/// the samples of the part, nobody knows that the part has none: samples just seldom miss three times what such a sample
/// stands for. (Of a stack of large and small blocks whose leaks hit ten samples, mostly large ones, the range of
/// leaked blocks held the truth in 55 of 100 recordings.)
#[derive(Clone, Copy)]
pub(crate) struct PartOf {
    pub(crate) part: Moments,
    pub(crate) whole: Moments,
}

impl PartOf {
    /// Blocks of which no others are known.
    pub(crate) fn all(part: Moments) -> PartOf {
        PartOf { part, whole: part }
    }

    /// How much more than seen there may be of the part.
    fn unseen(&self, moment: impl Fn(&Moments) -> &Moment) -> f64 {
        let (part, whole) = (moment(&self.part), moment(&self.whole));
        let (mine, largest) = (stands_for(part), stands_for(whole));
        if 2.0 * mine >= largest {
            return 0.0;
        }
        let most = figure(0, whole).high - at_least_0(part.value);
        (SELDOM_MISSED * largest).min(most).max(0.0)
    }
}

/// A sum over all sizes, from the samples of each class of them. Of bytes what goes unseen is the same for each class, see
/// [`Estimate::or_unseen`].
pub(crate) fn total(amount: Amount, classes: &[PartOf]) -> Estimate {
    let samples = count(classes.iter().map(|class| class.part.samples).sum());
    let of = |value: u64, moment: fn(&Moments) -> &Moment| {
        let parts: Vec<Figure> = classes.iter().map(|class| figure(0, moment(&class.part))).collect();
        let mut all = Moment::default();
        classes.iter().for_each(|class| all.add(moment(&class.part)));
        let sum = Figure::sum(value as f64, &parts);
        // Ends of ranges of few samples each are nearer than those of as many together.
        let low = sum.low.min(figure(value, &all).low);
        Figure { low: of_few(samples, seen(value, &all), low), ..sum }
    };
    // That no class is hit is no likelier than that the one is not whose samples stand for most.
    let unseen_blocks = classes.iter().map(|class| class.unseen(|of| &of.blocks)).fold(0.0, f64::max);
    Estimate {
        samples,
        blocks: of(amount.blocks, |class| &class.blocks).or_more(unseen_blocks),
        bytes: of(amount.bytes, |class| &class.bytes),
    }
}

/// A figure of one stack.
pub(crate) fn estimate(amount: Amount, stack: &PartOf) -> Estimate {
    let samples = count(stack.part.samples);
    let of = |value: u64, moment: fn(&Moments) -> &Moment| {
        let part = moment(&stack.part);
        let figure = figure(value, part).or_more(stack.unseen(moment));
        Figure { low: of_few(samples, seen(value, part), figure.low), ..figure }
    };
    Estimate {
        samples,
        blocks: of(amount.blocks, |stack| &stack.blocks),
        bytes: of(amount.bytes, |stack| &stack.bytes),
    }
}

/// A stack of fewer samples is one of many that might have been hit: it is in the answer because it was,
/// and its estimate is too high more often than not. All that is sure is what was seen.
const SAMPLES_FEW: u64 = 5;

/// The lower end of a figure: of few samples what was seen, at the most.
fn of_few(samples: u64, seen: f64, low: f64) -> f64 {
    if samples < SAMPLES_FEW { seen.min(low) } else { low }
}

/// What was recorded of `value`.
fn seen(value: u64, moment: &Moment) -> f64 {
    value as f64 - (moment.value - moment.own) as f64
}

/// A figure of `value`, some of which was sampled; what is more than that was recorded block by block.
pub(crate) fn figure(value: u64, moment: &Moment) -> Figure {
    let sampled = at_least_0(moment.value);
    let exact = (value as f64 - sampled).max(0.0);
    Figure::sampled(exact, sampled, at_least_0(moment.variance), at_least_0(moment.lean))
}

/// What a sample stands for besides itself, of those that stand for most.
fn stands_for(moment: &Moment) -> f64 {
    if moment.variance > 0 { at_least_0(moment.lean) / moment.variance as f64 } else { 0.0 }
}

fn at_least_0(moment: i128) -> f64 {
    (moment as f64).max(0.0)
}

fn count(samples: i64) -> u64 {
    u64::try_from(samples).unwrap_or(0)
}
