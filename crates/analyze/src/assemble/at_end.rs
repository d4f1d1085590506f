//! What was live in a process at its end, by stack: by its table of live blocks where the recording has one,
//! else what its events add up to.

use std::collections::BTreeMap;

use heapscribe_wire::ids::StackId;

use super::amounts::{ByNode, add, amount, sum};
use crate::answer::{AgeRange, Amount, Holder, NodeId, Peak, Totals, WholePeak};
use crate::counters::StackRow;
use crate::input::ProcessFacts;
use crate::losses::Seen;
use crate::peak::{Held, Holding, LiveEnd};
use crate::sums::ProcessSums;

/// What was live at the end.
#[derive(Debug, Default)]
pub(super) struct AtEnd {
    /// By stack.
    pub(super) held: ByNode,
    /// How old it was, where there is a table.
    pub(super) ages: BTreeMap<NodeId, AgeRange>,
    /// By how much the events say more than the table, by stack.
    pub(super) more: BTreeMap<NodeId, Amount>,
    /// What the events leave live, all together, those that a ring evicted too.
    net: Held,
    /// What is in the table.
    table: Option<Amount>,
    /// Size of the largest block.
    largest_bytes: u64,
    /// What events allocated that a ring evicted.
    evicted: Amount,
    /// What such events freed.
    evicted_frees: Amount,
}

/// When a process ended, in its ticks. Its table was read later than that, if it had ended by then.
fn end_ticks(table: &LiveEnd, facts: &ProcessFacts) -> u64 {
    let has_ended = table.moment.is_after_all && facts.end_mono_ns != 0;
    let ended = if has_ended { facts.clock.first_tick_at(facts.end_mono_ns) } else { u64::MAX };
    table.moment.ticks.min(ended)
}

/// The rows of a process by stack; each stack of the table has one, those too of which no event is there.
pub(super) fn rows(sums: &mut ProcessSums, table: Option<&LiveEnd>) -> Vec<(StackId, StackRow)> {
    if let Some(table) = table {
        for (stack, _) in table.net.held.rows() {
            sums.stacks.row(*stack);
        }
        sums.sampled.live_at_end(&table.net.sampled);
    }
    std::mem::take(&mut sums.stacks).into_sorted()
}

impl AtEnd {
    /// Of the rows of a process, with their nodes; each stack of the table has a row. Without a table what stacks hold
    /// is what their events leave, or what is `left` as far as it is known.
    pub(super) fn new<'a>(
        rows: impl Iterator<Item = (&'a (StackId, StackRow), &'a NodeId)>,
        facts: &ProcessFacts,
        table: Option<&LiveEnd>,
        left: Option<&Holding>,
    ) -> AtEnd {
        let (clock, end_ticks) = (&facts.clock, table.map_or(0, |table| end_ticks(table, facts)));
        let mut at_end = AtEnd {
            net: Held::left_by(&facts.evicted),
            evicted: Amount { blocks: facts.evicted.allocated_blocks, bytes: facts.evicted.allocated_bytes },
            evicted_frees: Amount { blocks: facts.evicted.freed_blocks, bytes: facts.evicted.freed_bytes },
            table: table.map(|table| amount(&table.all)),
            largest_bytes: table.map_or(0, |table| table.largest_bytes),
            ..AtEnd::default()
        };
        for ((stack, row), node) in rows {
            at_end.largest_bytes = at_end.largest_bytes.max(row.size_max);
            let of_events = Held::at_end(row);
            at_end.net.add(&of_events);
            let Some(table) = table else {
                add(&mut at_end.held, *node, left.map_or(of_events, |left| left.of(*stack)));
                continue;
            };
            let held = table.held(*stack);
            add(&mut at_end.held, *node, held);
            let more = amount(&Held {
                blocks: of_events.blocks.saturating_sub(held.blocks),
                bytes: of_events.bytes.saturating_sub(held.bytes),
            });
            if more != Amount::default() {
                at_end.more.entry(*node).or_default().add(&more);
            }
            at_end.ages.extend(table.births(*stack).map(|births| {
                let age_ns = |ticks: u64| clock.span_ns(end_ticks.saturating_sub(ticks));
                let age = AgeRange {
                    youngest_ns: age_ns(births.last_ticks),
                    oldest_ns: age_ns(births.first_ticks),
                };
                (*node, at_end.ages.get(node).map_or(age, |other| other.with(&age)))
            }));
        }
        at_end
    }

    /// What was never freed; what a ring evicted has no stack.
    pub(super) fn leaked(&self, is_ring: bool, stacks: &[Holder]) -> Amount {
        if is_ring && self.table.is_none() { amount(&self.net) } else { sum(stacks) }
    }

    /// What was seen of a process: evicted events, too.
    pub(super) fn seen(&self, totals: &Totals, peak: &Peak, whole_peak: Option<&WholePeak>) -> Seen {
        let mut allocated = Amount { blocks: totals.allocations, bytes: totals.allocated_bytes };
        let mut freed = Amount { blocks: totals.frees, bytes: totals.freed_bytes };
        allocated.add(&self.evicted);
        freed.add(&self.evicted_frees);
        Seen {
            allocated,
            freed,
            peak: Amount { blocks: peak.blocks, bytes: whole_peak.map_or(peak.bytes, |whole| whole.bytes) },
            net: amount(&self.net),
            table: self.table,
            largest_bytes: self.largest_bytes,
        }
    }
}
