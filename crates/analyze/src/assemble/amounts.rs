//! Figures on their way into an answer: ticks to ns, and signed sums to amounts that cannot be negative.

use std::collections::BTreeMap;

use crate::answer::{Amount, Holder, Lifetime, NodeId};
use crate::counters::StackRow;
use crate::input::Clock;
use crate::peak::Held;

/// What stacks held, by node.
pub(super) type ByNode = BTreeMap<NodeId, Held>;

/// A row with its ages in ns.
pub(super) fn in_ns(row: &StackRow, clock: &Clock) -> StackRow {
    let (min, max) = if row.frees == 0 { (u64::MAX, 0) } else { (row.age_min, row.age_max) };
    StackRow {
        age_sum: row.age_sum.wrapping_mul(u128::from(clock.ns_per_tick_q32)) >> 32,
        age_min: if row.frees == 0 { min } else { clock.span_ns(min) },
        age_max: clock.span_ns(max),
        ..*row
    }
}

pub(super) fn lifetime(row: &StackRow) -> Lifetime {
    if row.frees == 0 {
        return Lifetime::default();
    }
    Lifetime { min_ns: row.age_min, mean_ns: row.age_sum as f64 / row.frees as f64, max_ns: row.age_max }
}

pub(super) fn add(to: &mut ByNode, node: NodeId, held: Held) {
    to.entry(node).or_default().add(&held);
}

pub(super) fn at_least_0(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

pub(super) fn amount(held: &Held) -> Amount {
    Amount { blocks: at_least_0(held.blocks), bytes: at_least_0(held.bytes) }
}

/// Those that hold something.
pub(super) fn holders(held: &ByNode) -> Vec<Holder> {
    let some = |h: &Holder| h.held != Amount::default();
    held.iter().map(|(&node, held)| Holder { node, held: amount(held) }).filter(some).collect()
}

pub(super) fn sum(holders: &[Holder]) -> Amount {
    holders.iter().fold(Amount::default(), |mut sum, holder| {
        sum.add(&holder.held);
        sum
    })
}
