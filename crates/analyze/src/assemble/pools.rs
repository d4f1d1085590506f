//! Blocks of the programs' own pools on their way into the answer: sums by stack over all processes, and how far they
//! can be trusted. What is missing of a process may be of its pools as well as of its heap.

use std::collections::BTreeMap;

use heapscribe_formats::Evicted;

use super::amounts::{amount, at_least_0};
use super::context::ProcessContext;
use super::peak_range::PeakRanges;
use super::sampling::parts_by_class;
use crate::annotations::PoolSums;
use crate::answer::estimate::{Estimate, Sampling};
use crate::answer::{
    Amount, Bounds, FigureBounds, NodeId, PoolBounds, PoolSampling, PoolStack, PoolStackSampling, Pools,
};
use crate::losses::{EstimateLosses, Losses, Seen, nothing_known};
use crate::passes::{PoolsHeld, ProcessResults};
use crate::peak::{Held, LiveEnd};
use crate::sampling::{Moments, SampledLives, estimate, total};
use crate::stacks::{StackTable, TreeBuilder};

/// The pools of all processes so far.
#[derive(Debug, Default)]
pub(super) struct PoolAssembly {
    pools: Pools,
    stacks: BTreeMap<NodeId, OfStack>,
    /// The sampled blocks, by class of sizes.
    classes: BTreeMap<u32, SampledLives>,
    /// How sure the peak is.
    peak: Estimate,
    bounds: PoolBounds,
    /// Whether nothing is known of samples of a process.
    of_samples: bool,
    /// How losses touch estimates.
    of_estimates: EstimateLosses,
    /// Whether stacks may have done more than was seen.
    has_open_stacks: bool,
    /// Whether there is a ring: nobody counted events of pools that it evicted.
    is_ring: bool,
}

/// What one stack did, of one process or of all.
#[derive(Debug, Default)]
struct OfStack {
    allocated: Amount,
    freed: Amount,
    leaked: Amount,
    /// By how much the events say more than the table.
    more: Amount,
    /// What the events leave live; of one process alone.
    net: Held,
    lives: SampledLives,
}

/// What is missing of a process, and its table of what was live at its end.
pub(super) struct AtHand<'a> {
    pub(super) losses: Losses,
    pub(super) table: Option<&'a LiveEnd>,
    /// Whether a ring has evicted events of it, or of others so that not all of its events are looked at.
    pub(super) is_ring: bool,
    /// What was evicted of its own.
    pub(super) evicted: &'a Evicted,
}

impl PoolAssembly {
    /// Takes the pools of a process.
    pub(super) fn take(
        &mut self,
        context: &ProcessContext<'_>,
        results: &mut ProcessResults,
        at_hand: &AtHand<'_>,
        tree: &mut TreeBuilder,
    ) {
        let mut sums = std::mem::take(&mut results.sums.annotations.pools.sums);
        if let Some(table) = at_hand.table {
            sums.sampled.live_at_end(&table.pools.sampled);
        }
        for (class, lives) in &sums.sampled.classes {
            self.classes.entry(*class).or_default().merge(lives);
        }
        self.pools.unknown += sums.unknown;
        let peak_bytes = at_least_0(results.pools_peak.bytes);
        if peak_bytes > self.pools.peak_bytes {
            self.pools.peak_bytes = peak_bytes;
            self.pools.peak_ns = results.pools_peak.ns.saturating_sub(context.begin_ns);
            self.peak = estimate_of_peak(peak_bytes, results.pools_held.as_ref(), &sums.sampled.classes);
        }
        let sizes = sums.stacks.rows().iter().map(|(_, row)| row.size_max);
        let largest_bytes = sizes.chain(at_hand.table.map(|table| table.largest_of_pools_bytes)).max();
        let unknown = sums.unknown;
        let stacks = of_stacks(sums, at_hand.table);
        let mut seen = Seen {
            peak: Amount { blocks: 0, bytes: peak_bytes },
            largest_bytes: largest_bytes.unwrap_or(0),
            ..Seen::default()
        };
        let (mut net, mut leaked) = (Held::default(), Amount::default());
        for (_, of) in stacks.rows() {
            seen.allocated.add(&of.allocated);
            seen.freed.add(&of.freed);
            net.add(&of.net);
            leaked.add(&of.leaked);
        }
        (seen.net, seen.table) = (amount(&net), at_hand.table.map(|_| leaked));
        self.bound(&seen, unknown, at_hand);
        for (node, of) in context.nodes(stacks, tree) {
            self.stacks.entry(node).or_default().merge(&of);
        }
    }

    /// Takes between what the figures of a process lie.
    fn bound(&mut self, seen: &Seen, unknown_frees: u64, at_hand: &AtHand<'_>) {
        let losses = at_hand.losses.of_pools(unknown_frees, !at_hand.evicted.is_empty());
        let mut seen = *seen;
        let is_partly_known = at_hand.is_ring && losses.touches_leaks();
        if is_partly_known {
            // What its events leave live says nothing: others were evicted, and its table does not have all blocks.
            seen.net = seen.net.max(seen.peak);
        }
        let FigureBounds { allocated, freed, peak, mut leaked, .. } = losses.bounds(&seen);
        if is_partly_known {
            (leaked.blocks.high, leaked.bytes.high) = (None, None);
        }
        self.is_ring |= at_hand.is_ring;
        self.has_open_stacks |= losses.is_any() && (!losses.bounds_stacks() || seen.table.is_none());
        self.bounds.allocated.add(&allocated);
        self.bounds.freed.add(&freed);
        self.bounds.leaked.add(&leaked);
        let most = &mut self.bounds.peak_bytes;
        most.low = most.low.max(peak.bytes.low);
        most.high = most.high.zip(peak.bytes.high).map(|(mine, theirs)| mine.max(theirs));
        self.of_samples |= losses.bounds_of_samples(&seen).is_some();
        self.of_estimates.add(losses.touch_estimates(seen.table.is_some()));
    }

    /// The pools of an answer, of which blocks were sampled or none, and that was off for a time or not.
    pub(super) fn finish(mut self, sampling: Option<&Sampling>, was_off: bool) -> Pools {
        let Some(sampling) = sampling else { return self.finish_exact() };
        for (node, of) in &self.stacks {
            let of_stack = PoolStackSampling {
                allocated: estimate(of.allocated, &of.lives.part(of.lives.allocated)),
                leaked: estimate(of.leaked, &of.lives.part(of.lives.at_end())),
            };
            let of_stack = of_stack.or_unseen(sampling.unseen_below_bytes());
            let of_stack = if was_off { of_stack.open_above() } else { of_stack };
            self.pools.stacks.push(PoolStack { sampling: Some(of_stack), ..of.at(*node) });
        }
        self.sum();
        let lives = |of: fn(&SampledLives) -> Moments| {
            self.classes.values().map(|lives| lives.part(of(lives))).collect::<Vec<_>>()
        };
        let of_all = PoolSampling {
            allocated: total(self.pools.allocated, &lives(|lives| lives.allocated)),
            freed: total(self.pools.freed, &lives(|lives| lives.freed)),
            peak: self.peak,
            leaked: total(self.pools.leaked, &lives(SampledLives::at_end)),
        };
        let of_all = of_all.or_unseen(sampling.unseen_below_bytes());
        let of_all = if was_off || self.is_ring { of_all.open_above(was_off) } else { of_all };
        let of_estimates = || {
            let PoolSampling { allocated, freed, peak, leaked } = &of_all;
            self.of_estimates.bounds([allocated, freed, peak, leaked])
        };
        let bounds = if self.of_samples { Some(nothing_known()) } else { of_estimates() };
        Pools { sampling: Some(of_all), bounds: bounds.map(PoolBounds::from), ..self.pools }
    }

    fn finish_exact(mut self) -> Pools {
        let bounds = Some(self.bounds).filter(|bounds| !bounds.are_exact());
        let has_stacks = bounds.is_some() && !self.has_open_stacks;
        for (node, of) in &self.stacks {
            let mut most = of.leaked;
            most.add(&of.more);
            let leaked_bounds = has_stacks.then(|| Bounds::between(of.leaked, Some(most)));
            self.pools.stacks.push(PoolStack { leaked_bounds, ..of.at(*node) });
        }
        self.sum();
        Pools { bounds, ..self.pools }
    }

    fn sum(&mut self) {
        for of in self.stacks.values() {
            self.pools.allocated.add(&of.allocated);
            self.pools.freed.add(&of.freed);
            self.pools.leaked.add(&of.leaked);
        }
    }
}

impl OfStack {
    fn merge(&mut self, other: &OfStack) {
        self.allocated.add(&other.allocated);
        self.freed.add(&other.freed);
        self.leaked.add(&other.leaked);
        self.more.add(&other.more);
        self.lives.merge(&other.lives);
    }

    fn at(&self, node: NodeId) -> PoolStack {
        PoolStack { node, allocated: self.allocated, leaked: self.leaked, ..PoolStack::default() }
    }
}

/// What stacks did, and what they never freed: as the table has it, or else as the events do.
fn of_stacks(sums: PoolSums, table: Option<&LiveEnd>) -> StackTable<OfStack> {
    let mut stacks = StackTable::<OfStack>::default();
    for (stack, row) in sums.stacks.rows() {
        let net = Held::at_end(row);
        *stacks.row(*stack) = OfStack {
            allocated: Amount { blocks: row.allocations, bytes: row.allocated_bytes },
            freed: Amount { blocks: row.frees, bytes: row.freed_bytes },
            leaked: if table.is_some() { Amount::default() } else { amount(&net) },
            more: if table.is_some() { amount(&net) } else { Amount::default() },
            net,
            ..OfStack::default()
        };
    }
    for (stack, held) in table.into_iter().flat_map(|table| table.pools.held.rows()) {
        let of = stacks.row(*stack);
        of.leaked = amount(held);
        of.more = of.more.minus(of.leaked);
    }
    for (stack, lives) in sums.sampled.stacks.rows() {
        stacks.row(*stack).lives = *lives;
    }
    stacks
}

/// How sure the peak of a process is; exact where none of its blocks were sampled.
fn estimate_of_peak(bytes: u64, held: Option<&PoolsHeld>, classes: &BTreeMap<u32, SampledLives>) -> Estimate {
    let mut ranges = PeakRanges::default();
    let Some(held) = held else { return total(Amount { blocks: 0, bytes }, &[]) };
    ranges.take(&held.at_halves, |_| NodeId::default());
    let sum = held.at_peak.held.iter().fold(Held::default(), |mut sum, (_, held)| {
        sum.add(held);
        sum
    });
    let classes = parts_by_class(&held.at_peak.sampled.classes, classes);
    ranges.of_all(total(Amount { blocks: at_least_0(sum.blocks), bytes }, &classes))
}
