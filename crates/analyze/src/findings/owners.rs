//! Stacks by who asked: names are not known here, so whoever asks for findings says which stacks belong together and which
//! are of blocks that runtime libraries keep on purpose.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::finding::Culprit;
use super::limits::STACKS_OF_FINDING;
use crate::answer::{Amount, Answer, NodeId, Stack};

/// Which stacks belong together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Owners {
    /// The number of its owner, by stack; a stack that is not here is its own owner.
    pub of: BTreeMap<NodeId, u32>,
    /// Stacks of blocks that a runtime library keeps until a process ends.
    pub of_runtime: BTreeSet<NodeId>,
}

/// The stacks of one owner, and what of them a finding is about.
#[derive(Clone, Debug, Default)]
pub(super) struct Owned<'a> {
    pub(super) stacks: Vec<(&'a Stack, Amount)>,
    pub(super) amount: Amount,
}

impl<'a> Owned<'a> {
    /// A figure summed over all stacks.
    pub(super) fn sum(&self, of: impl Fn(&Stack) -> u64) -> u64 {
        self.stacks.iter().map(|(stack, _)| of(stack)).fold(0, u64::saturating_add)
    }

    pub(super) fn max(&self, of: impl Fn(&Stack) -> u64) -> u64 {
        self.stacks.iter().map(|(stack, _)| of(stack)).max().unwrap_or(0)
    }

    pub(super) fn culprit(&self) -> Culprit {
        let first = self.stacks.iter().max_by_key(|(stack, of)| (of.bytes, of.blocks, Reverse(stack.node)));
        let node = first.map_or(NodeId::ROOT, |(stack, _)| stack.node);
        Culprit { node, stacks: self.stacks.len() as u64, amount: self.amount }
    }
}

/// An owner as a key: a stack without one is its own.
pub(super) type OwnerKey = Result<u32, NodeId>;

impl Owners {
    pub(super) fn key(&self, node: NodeId) -> OwnerKey {
        self.of.get(&node).copied().ok_or(node)
    }

    /// Stacks with an amount that is not nothing, by owner, the one with most bytes first.
    pub(super) fn ranked<'a>(&self, answer: &'a Answer, amount: impl Fn(&Stack) -> Amount) -> Vec<Owned<'a>> {
        let mut owned: BTreeMap<OwnerKey, Owned<'a>> = BTreeMap::new();
        for stack in &answer.stacks {
            let of_stack = amount(stack);
            if of_stack != Amount::default() {
                let owner = owned.entry(self.key(stack.node)).or_default();
                owner.stacks.push((stack, of_stack));
                owner.amount.add(&of_stack);
            }
        }
        let mut ranked: Vec<_> = owned.into_values().collect();
        ranked.sort_by_key(|of| (Reverse(of.amount.bytes), Reverse(of.amount.blocks), of.culprit().node));
        ranked
    }
}

/// The first owners of a list, and how many more it has.
pub(super) fn culprits(ranked: &[Owned<'_>]) -> (Vec<Culprit>, u64) {
    let shown = ranked.len().min(STACKS_OF_FINDING as usize);
    (ranked[..shown].iter().map(Owned::culprit).collect(), (ranked.len() - shown) as u64)
}
