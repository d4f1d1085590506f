//! The stacks that made a figure, those with most of it first.

use std::cmp::Reverse;

use heapscribe_analyze::answer::{Amount, Answer, NodeId, Stack};
use heapscribe_analyze::estimate::{Estimate, StackEstimates};

use super::verdict::{Culprit, Evidence};

/// Stacks by one of their figures, the worst first, and how many more there are.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Worst {
    /// The stacks that are named.
    pub culprits: Vec<Culprit>,
    /// How many more there are.
    pub more: usize,
}

/// A stack, what it contributes to a figure, and whether that is an estimate.
pub(super) type Contribution = (NodeId, Amount, bool);

pub(super) fn contributions(
    answer: &Answer,
    of: impl Fn(&Stack) -> Amount,
    estimate: impl Fn(&StackEstimates) -> Estimate,
) -> Vec<Contribution> {
    let estimates = answer.sampling.as_ref().map_or(&[][..], |sampling| &sampling.stacks);
    let is_estimated = |n: usize| estimates.get(n).is_some_and(|of| estimate(of).bytes.variance > 0.0);
    answer.stacks.iter().enumerate().map(|(n, stack)| (stack.node, of(stack), is_estimated(n))).collect()
}

/// The stacks with most blocks or bytes.
pub(super) fn worst(
    mut stacks: Vec<Contribution>,
    by_blocks: bool,
    top: usize,
    mut gather: impl FnMut(NodeId) -> NodeId,
) -> Worst {
    let figure = |amount: &Amount| if by_blocks { amount.blocks } else { amount.bytes };
    stacks.retain(|(_, amount, _)| figure(amount) > 0);
    stacks.sort_by_key(|(node, amount, _)| (Reverse(figure(amount)), *node));
    let more = stacks.len().saturating_sub(top);
    let culprit = |(node, amount, is_estimated): &Contribution| Culprit {
        stack: gather(*node),
        what: Evidence::Blocks(*amount),
        is_estimated: *is_estimated,
    };
    Worst { culprits: stacks.iter().take(top).map(culprit).collect(), more }
}
