//! Patterns of stacks on their way into the answer.

use std::collections::BTreeMap;

use heapscribe_wire::ids::StackId;

use super::amounts::{ByNode, add, amount, at_least_0};
use super::at_end::AtEnd;
use crate::answer::{Amount, Ascent, GROWTH_STEPS, Growth, Holder, NodeId, Patterns, Stack};
use crate::counters::{LargeSums, StackRow};
use crate::latency::StepTimes;
use crate::passes::{PassResults, ProcessResults};

/// What is known of patterns besides the rows, over all processes.
#[derive(Default)]
pub(super) struct PatternAssembly {
    before_peak: ByNode,
    timed: BTreeMap<NodeId, StepTimes>,
    large: BTreeMap<NodeId, [Amount; 2]>,
}

impl PatternAssembly {
    /// Takes a process's.
    pub(super) fn take(&mut self, results: &ProcessResults, node_of: impl Fn(&StackId) -> NodeId) {
        let before_peak = results.held_at_ascent.iter().flat_map(|holding| &holding.held);
        before_peak.for_each(|(stack, held)| add(&mut self.before_peak, node_of(stack), *held));
        for (stack, large) in results.sums.large.rows() {
            let [long, freed] = self.large.entry(node_of(stack)).or_default();
            long.add(&large.long_lived());
            freed.add(&large.freed_old);
        }
        for (stack, times) in results.sums.latency.stacks.rows() {
            self.timed.entry(node_of(stack)).or_default().merge(times);
        }
    }

    /// A stack with its patterns.
    pub(super) fn with(&self, row: &StackRow, stack: Stack) -> Stack {
        Stack {
            before_peak: self.before_peak.get(&stack.node).map_or(Amount::default(), amount),
            patterns: self.patterns(row, stack.node),
            ..stack
        }
    }

    /// The patterns of a row, and how long its calls took.
    fn patterns(&self, row: &StackRow, node: NodeId) -> Patterns {
        let (sums, timed) = (&row.patterns, self.timed.get(&node));
        let [long_lived, long_lived_freed] = self.large.get(&node).copied().unwrap_or_default();
        Patterns {
            heap_bytes: sums.heap_bytes,
            over_aligned: sums.over_aligned,
            small_steps: sums.small_steps,
            long_lived,
            long_lived_freed,
            timed_calls: timed.map_or(0, |times| times.count),
            took_ns: timed.map_or(0, |times| times.sum_ns),
        }
    }
}

/// The foot of the peak.
pub(super) fn ascent(results: &PassResults) -> Option<Ascent> {
    results.ascent.map(|ascent| Ascent {
        time_ns: ascent.ns.saturating_sub(results.begin_ns),
        bytes: at_least_0(ascent.bytes),
    })
}

/// What the stacks of a process held in the second half of its life, of those that hold more at its end than at half
/// of it.
pub(super) fn growth<'a>(
    rows: impl Iterator<Item = (&'a (StackId, StackRow), &'a NodeId)>,
    at_end: &AtEnd,
) -> Vec<Growth> {
    let mut by_node: BTreeMap<NodeId, [i64; GROWTH_STEPS + 1]> = BTreeMap::new();
    for ((_, row), node) in rows {
        let more: i64 = row.patterns.net_bytes[1..].iter().copied().fold(0, i64::wrapping_add);
        if more <= 0 || at_end.held.get(node).is_none_or(|held| held.bytes <= 0) {
            continue;
        }
        let levels = by_node.entry(*node).or_default();
        let mut level = 0i64;
        for (of_step, net) in levels.iter_mut().zip(&row.patterns.net_bytes) {
            level = level.wrapping_add(*net);
            *of_step = of_step.wrapping_add(level);
        }
    }
    by_node.into_iter().map(|(node, bytes)| Growth { node, bytes }).collect()
}

/// Whose large blocks a process held for most of its life and freed at its end.
pub(super) fn freed_late(rows: &[(StackId, LargeSums)], node_of: impl Fn(&StackId) -> NodeId) -> Vec<Holder> {
    let mut by_node: BTreeMap<NodeId, Amount> = BTreeMap::new();
    for (stack, large) in rows.iter().filter(|(_, large)| large.freed_late != Amount::default()) {
        by_node.entry(node_of(stack)).or_default().add(&large.freed_late);
    }
    by_node.into_iter().map(|(node, held)| Holder { node, held }).collect()
}
