//! From sums over the sampled blocks of processes to how sure an answer is.

use std::collections::{BTreeMap, BTreeSet};

use heapscribe_wire::ids::StackId;

use crate::answer::{Amount, Answer, NodeId, Stack};
use crate::estimate::{Estimate, Figure, Sampling, StackEstimates};
use crate::rates::Means;
use crate::weight::{Lives, Moment, Moments, Samples};

/// What the processes' samples add up to.
#[derive(Default)]
pub(crate) struct AllSamples {
    lives: BTreeMap<NodeId, Lives>,
    at_peak: BTreeMap<NodeId, Moments>,
    /// By class of sizes.
    classes: BTreeMap<u32, Lives>,
    classes_at_peak: BTreeMap<u32, Moments>,
    means: BTreeSet<u64>,
}

impl AllSamples {
    /// Takes the rates of a process, also those that hit no block: figures are estimates all the same (a trace
    /// without one sample passed for one of a program that allocates nothing). Of those that occur, a bit of
    /// `used` for each, a note when one has no meaning.
    pub(crate) fn rates(&mut self, pid: u32, used: u8, means: &Means) -> Option<String> {
        let numbers: Vec<usize> = (1..means.len()).filter(|n| used >> n & 1 == 1).collect();
        self.means.extend(means.iter().filter(|mean| **mean != 0));
        let unknown: Vec<_> = numbers.iter().filter(|&&n| means[n] == 0).map(ToString::to_string).collect();
        (!unknown.is_empty()).then(|| {
            let numbers = unknown.join(", ");
            format!("process {pid}: sampling rate {numbers} is not defined; its blocks count once each")
        })
    }

    /// Takes the samples of a process.
    pub(crate) fn lives(&mut self, samples: &Samples<Lives>, node_of: impl Fn(&StackId) -> NodeId) {
        for (stack, lives) in samples.stacks.rows() {
            self.lives.entry(node_of(stack)).or_default().merge(lives);
        }
        for (class, lives) in &samples.classes {
            self.classes.entry(*class).or_default().merge(lives);
        }
    }

    /// Takes what was live of a process at the peak.
    pub(crate) fn at_peak(&mut self, held: &Samples<Moments>, node_of: impl Fn(&StackId) -> NodeId) {
        for (stack, moments) in held.stacks.rows() {
            self.at_peak.entry(node_of(stack)).or_default().add(moments);
        }
        for (class, moments) in &held.classes {
            self.classes_at_peak.entry(*class).or_default().add(moments);
        }
    }

    /// How sure the figures of an answer are; nothing when every block was recorded.
    pub(crate) fn of(&self, answer: &Answer) -> Option<Sampling> {
        if self.means.is_empty() {
            return None;
        }
        let t = &answer.totals;
        let peak = Amount { blocks: answer.peak.blocks, bytes: answer.peak.bytes };
        let lives = |of: fn(&Lives) -> Moments| self.classes.values().map(of).collect::<Vec<_>>();
        let came = lives(|lives| lives.came);
        let sampled_blocks: i128 = came.iter().map(|moments| moments.blocks.value).sum();
        let allocated = total(Amount { blocks: t.allocations, bytes: t.allocated_bytes }, &came);
        Some(Sampling {
            mean_bytes: self.means.iter().copied().collect(),
            samples: allocated.samples,
            exact_blocks: t.allocations.saturating_sub(u64::try_from(sampled_blocks).unwrap_or(0)),
            allocated,
            freed: total(Amount { blocks: t.frees, bytes: t.freed_bytes }, &lives(|lives| lives.went)),
            peak: total(peak, &self.classes_at_peak.values().copied().collect::<Vec<_>>()),
            leaked: total(answer.leaked, &lives(Lives::at_end)),
            temporary: total(answer.temporary, &lives(|lives| lives.temporary)),
            stacks: answer.stacks.iter().map(|stack| self.of_stack(stack)).collect(),
        })
    }

    fn of_stack(&self, stack: &Stack) -> StackEstimates {
        let lives = self.lives.get(&stack.node).copied().unwrap_or_default();
        let at_peak = self.at_peak.get(&stack.node).copied().unwrap_or_default();
        StackEstimates {
            allocated: estimate(stack.allocated, &lives.came),
            freed: estimate(stack.freed, &lives.went),
            at_peak: estimate(stack.at_peak, &at_peak),
            leaked: estimate(stack.leaked, &lives.at_end()),
            temporary: estimate(stack.temporary, &lives.temporary),
        }
    }
}

/// A sum over all sizes, from the samples of each class of them.
pub(crate) fn total(amount: Amount, classes: &[Moments]) -> Estimate {
    let of = |value: u64, moment: fn(&Moments) -> &Moment| {
        let parts: Vec<Figure> = classes.iter().map(|class| figure(0, moment(class))).collect();
        Figure::sum(value as f64, &parts)
    };
    Estimate {
        samples: count(classes.iter().map(|class| class.samples).sum()),
        blocks: of(amount.blocks, |class| &class.blocks),
        bytes: of(amount.bytes, |class| &class.bytes),
    }
}

/// A stack of fewer samples is one of many that might have been hit: it is in the answer because it was,
/// and its estimate is too high more often than not. All that is sure is what was seen.
const SAMPLES_FEW: u64 = 5;

pub(crate) fn estimate(amount: Amount, moments: &Moments) -> Estimate {
    let samples = count(moments.samples);
    let of = |value, moment: &Moment| {
        let figure = figure(value, moment);
        let seen = figure.value - (moment.value - moment.own) as f64;
        Figure { low: if samples < SAMPLES_FEW { seen.min(figure.low) } else { figure.low }, ..figure }
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
