//! What the blocks of a table add up to.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use heapscribe_formats::LiveBlock;
use heapscribe_wire::ids::{RateId, StackId, ThreadId};

use super::live::{LiveSampling, LiveStack, LiveThread};
use crate::answer::{Amount, NodeId, estimate};
use crate::counters::Histogram;
use crate::sampling::{self, Birth, Moments, PartOf, Samples, Weight};
use crate::stacks::{Definitions, RateMeans, TreeBuilder};

/// What a block stands for: itself, or more when it was sampled.
pub(super) fn weight(block: &LiveBlock, mean_bytes: u64) -> Weight {
    if block.rate == RateId::FULL {
        return Weight::one(block.size_bytes);
    }
    Weight::of(block.size_bytes, mean_bytes, Birth { thread: block.thread.0, ticks: block.birth_ticks })
}

/// What the blocks of a table add up to.
#[derive(Default)]
pub(super) struct BlockSums {
    pub(super) live: Amount,
    by_stack: HashMap<StackId, LiveStack>,
    by_thread: BTreeMap<ThreadId, Amount>,
    pub(super) sizes: Histogram,
    pub(super) ages: Histogram,
    sampled: Samples<Moments>,
    exact_blocks: u64,
    rates: BTreeSet<RateId>,
    means: BTreeSet<u64>,
}

impl BlockSums {
    pub(super) fn add(&mut self, block: &LiveBlock, mean_bytes: u64, age_ns: u64) {
        let weight = weight(block, mean_bytes);
        let amount = Amount { blocks: weight.blocks, bytes: weight.bytes };
        self.live.add(&amount);
        self.by_thread.entry(block.thread).or_default().add(&amount);
        let stack = self
            .by_stack
            .entry(block.stack)
            .or_insert(LiveStack { youngest_ns: u64::MAX, ..LiveStack::default() });
        stack.live.add(&amount);
        stack.youngest_ns = stack.youngest_ns.min(age_ns);
        stack.oldest_ns = stack.oldest_ns.max(age_ns);
        self.sizes.add(block.size_bytes, weight);
        self.ages.add(age_ns, weight);
        if block.rate != RateId::FULL {
            self.rates.insert(block.rate);
            self.means.extend((mean_bytes != 0).then_some(mean_bytes));
            self.sampled.note(block.stack, block.size_bytes, weight, Moments::add);
        } else {
            self.exact_blocks += 1;
        }
    }

    pub(super) fn unknown_rates(&self, means: &RateMeans) -> Option<String> {
        let is_unknown = |rate: &&RateId| means.mean(**rate) == 0;
        let unknown: Vec<_> = self.rates.iter().filter(is_unknown).map(|rate| rate.0.to_string()).collect();
        (!unknown.is_empty()).then(|| {
            format!("sampling rate {} is not defined; its blocks count once each", unknown.join(", "))
        })
    }

    /// Stacks of different numbers may be one place in code.
    pub(super) fn stacks(
        &self,
        definitions: &Definitions,
        tree: &mut TreeBuilder,
    ) -> (Vec<(StackId, NodeId)>, Vec<LiveStack>) {
        let mut own: Vec<_> = self.by_stack.iter().map(|(id, stack)| (*id, *stack)).collect();
        own.sort_unstable_by_key(|(id, _)| *id);
        let nodes = definitions.nodes(tree, own.iter().map(|(id, _)| *id));
        let moments: HashMap<StackId, Moments> = self.sampled.stacks.rows().iter().copied().collect();
        let mut merged: BTreeMap<NodeId, (LiveStack, Moments)> = BTreeMap::new();
        let nodes: Vec<_> = own.iter().map(|(id, _)| *id).zip(nodes).collect();
        for ((id, stack), (_, node)) in own.into_iter().zip(nodes.iter().copied()) {
            let (to, sampled) = merged.entry(node).or_insert_with(|| {
                (LiveStack { node, youngest_ns: u64::MAX, ..LiveStack::default() }, Moments::default())
            });
            to.live.add(&stack.live);
            to.youngest_ns = to.youngest_ns.min(stack.youngest_ns);
            to.oldest_ns = to.oldest_ns.max(stack.oldest_ns);
            sampled.add(&moments.get(&id).copied().unwrap_or_default());
        }
        let is_sampled = !self.means.is_empty();
        let sure = |(stack, moments): (LiveStack, Moments)| {
            let estimate = is_sampled.then(|| sampling::estimate(stack.live, &PartOf::all(moments)));
            LiveStack { estimate, ..stack }
        };
        (nodes, merged.into_values().map(sure).collect())
    }

    pub(super) fn threads(&self, definitions: &Definitions) -> Vec<LiveThread> {
        let names: HashMap<u32, (u32, &Vec<u8>)> =
            definitions.threads.iter().map(|(id, tid, name)| (*id, (*tid, name))).collect();
        let thread = |(id, live): (&ThreadId, &Amount)| {
            let (tid, name) = names.get(&id.0).map_or((0, Vec::new()), |(tid, name)| (*tid, (*name).clone()));
            LiveThread { id: id.0, tid, name, live: *live }
        };
        self.by_thread.iter().map(thread).collect()
    }

    /// Also of a process that was sampled and of which no sample hit a live block: there may be others.
    pub(super) fn sampling(&self, rates: &RateMeans) -> Option<LiveSampling> {
        let classes: Vec<_> = self.sampled.classes.values().copied().map(PartOf::all).collect();
        let means: BTreeSet<u64> = self.means.iter().copied().chain(rates.known()).collect();
        let coarsest = *means.last()?;
        let mut live = sampling::total(self.live, &classes);
        live.or_unseen(estimate::unseen_below_bytes(coarsest) as f64);
        let (mean_bytes, exact_blocks) = (means.into_iter().collect(), self.exact_blocks);
        Some(LiveSampling { mean_bytes, live, exact_blocks })
    }
}
