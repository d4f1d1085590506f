//! The sampled blocks of all processes on their way into the answer: how sure its figures are.

use std::collections::{BTreeMap, BTreeSet};

use heapscribe_wire::ids::StackId;

use super::peak_range::PeakRanges;
use crate::answer::estimate::{Sampling, StackEstimates};
use crate::answer::{Amount, Answer, NodeId, Stack};
use crate::peak::Holding;
use crate::sampling::{Moments, PartOf, SampledLives, Samples, estimate, total};
use crate::stacks::RateMeans;

/// What the processes' samples add up to.
#[derive(Default)]
pub(super) struct SampleAssembly {
    lives: BTreeMap<NodeId, SampledLives>,
    at_peak: BTreeMap<NodeId, Moments>,
    /// By class of sizes.
    classes: BTreeMap<u32, SampledLives>,
    classes_at_peak: BTreeMap<u32, Moments>,
    peak_ranges: PeakRanges,
    means: BTreeSet<u64>,
}

impl SampleAssembly {
    /// Takes the rates of a process, also those that hit no block: figures are estimates all the same (a trace
    /// without one sample passed for one of a program that allocates nothing). Of those that occur, a bit of
    /// `used` for each, a note when one has no meaning.
    pub(super) fn rates(&mut self, pid: u32, used: u8, means: &RateMeans) -> Option<String> {
        self.means.extend(means.known());
        let undefined = means.undefined(used);
        (!undefined.is_empty()).then(|| {
            let numbers = undefined.join(", ");
            format!("process {pid}: sampling rate {numbers} is not defined; its blocks count once each")
        })
    }

    /// Takes the samples of a process.
    pub(super) fn lives(&mut self, samples: &Samples<SampledLives>, node_of: impl Fn(&StackId) -> NodeId) {
        for (stack, lives) in samples.stacks.rows() {
            self.lives.entry(node_of(stack)).or_default().merge(lives);
        }
        for (class, lives) in &samples.classes {
            self.classes.entry(*class).or_default().merge(lives);
        }
    }

    /// Takes what was live of a process at the peak, and when each half of the sample has it.
    pub(super) fn at_peak(
        &mut self,
        held: &Samples<Moments>,
        at_halves: Option<&[Holding; 2]>,
        node_of: impl Fn(&StackId) -> NodeId,
    ) {
        at_halves.iter().for_each(|at_halves| self.peak_ranges.take(at_halves, &node_of));
        for (stack, moments) in held.stacks.rows() {
            self.at_peak.entry(node_of(stack)).or_default().add(moments);
        }
        for (class, moments) in &held.classes {
            self.classes_at_peak.entry(*class).or_default().add(moments);
        }
    }

    /// How sure the figures of an answer are, of a recording that was off for a time or not; nothing when every block was
    /// recorded.
    pub(super) fn of(&self, answer: &Answer, was_off: bool) -> Option<Sampling> {
        if self.means.is_empty() {
            return None;
        }
        let t = &answer.totals;
        let peak = Amount { blocks: answer.peak.blocks, bytes: answer.peak.bytes };
        let lives = |of: fn(&SampledLives) -> Moments| {
            self.classes.values().map(|lives| lives.part(of(lives))).collect::<Vec<_>>()
        };
        let allocated_by_class = lives(|lives| lives.allocated);
        let sampled_blocks: i128 = allocated_by_class.iter().map(|class| class.part.blocks.value).sum();
        let allocated =
            total(Amount { blocks: t.allocations, bytes: t.allocated_bytes }, &allocated_by_class);
        let sampling = Sampling {
            mean_bytes: self.means.iter().copied().collect(),
            samples: allocated.samples,
            exact_blocks: t.allocations.saturating_sub(u64::try_from(sampled_blocks).unwrap_or(0)),
            allocated,
            freed: total(Amount { blocks: t.frees, bytes: t.freed_bytes }, &lives(|lives| lives.freed)),
            peak: self.peak_ranges.of_all(total(peak, &parts_by_class(&self.classes_at_peak, &self.classes))),
            leaked: total(answer.leaked, &lives(SampledLives::at_end)),
            temporary: total(answer.temporary, &lives(|lives| lives.temporary)),
            stacks: answer.stacks.iter().map(|stack| self.of_stack(stack)).collect(),
        };
        let sampling = sampling.or_unseen();
        Some(if was_off { sampling.open_above() } else { sampling })
    }

    fn of_stack(&self, stack: &Stack) -> StackEstimates {
        let lives = self.lives.get(&stack.node).copied().unwrap_or_default();
        let at_peak = self.at_peak.get(&stack.node).copied().unwrap_or_default();
        StackEstimates {
            allocated: estimate(stack.allocated, &lives.part(lives.allocated)),
            freed: estimate(stack.freed, &lives.part(lives.freed)),
            at_peak: self.peak_ranges.of_stack(stack.node, estimate(stack.at_peak, &lives.part(at_peak))),
            leaked: estimate(stack.leaked, &lives.part(lives.at_end())),
            temporary: estimate(stack.temporary, &lives.part(lives.temporary)),
        }
    }
}

/// What was live at the peak, by class of sizes, also of classes of which nothing was.
pub(super) fn parts_by_class(
    at_peak: &BTreeMap<u32, Moments>,
    classes: &BTreeMap<u32, SampledLives>,
) -> Vec<PartOf> {
    let numbers: BTreeSet<&u32> = at_peak.keys().chain(classes.keys()).collect();
    let of = |class| {
        let part = at_peak.get(class).copied().unwrap_or_default();
        classes.get(class).map_or(PartOf::all(part), |lives| lives.part(part))
    };
    numbers.into_iter().map(of).collect()
}
