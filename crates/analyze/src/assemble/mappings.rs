//! The program's own mappings on their way into the answer: stacks become nodes, ticks become ns.

use std::cmp::Reverse;

use super::context::ProcessContext;
use crate::answer::{MappedStack, Mappings};
use crate::input::ProcessFacts;
use crate::losses;
use crate::mappings::{Followed, OfStack, follow};
use crate::stacks::TreeBuilder;
use crate::sums::ProcessSums;

/// What a process mapped; `None` where no call was recorded.
pub(super) fn mappings(
    context: &ProcessContext<'_>,
    facts: &ProcessFacts,
    sums: &mut ProcessSums,
    tree: &mut TreeBuilder,
) -> Option<Mappings> {
    let is_whole = facts.evicted.is_empty() && facts.off.is_empty() && facts.gap_at.is_none();
    let is_incomplete = !is_whole || losses::counted(&facts.drops, &sums.lost).1 > 0;
    let events = std::mem::take(&mut sums.mappings);
    let count = events.count();
    if count == 0 {
        return None;
    }
    let Some(followed) = follow(events) else {
        return Some(Mappings { unfollowed_calls: count, ..Mappings::default() });
    };
    let Followed { live_bytes, break_bytes, reserved_bytes, peak_bytes, peak_ticks, mapped, stacks } =
        followed;
    let nodes = context.definitions.nodes(tree, stacks.keys().copied());
    let stack = |(node, of): (_, &OfStack)| MappedStack {
        node,
        mapped: of.mapped,
        at_peak_bytes: of.at_peak_bytes,
        live_bytes: of.live_bytes,
    };
    let mut stacks: Vec<_> = nodes.into_iter().zip(stacks.values()).map(stack).collect();
    stacks.sort_by_key(|of| (Reverse((of.at_peak_bytes, of.live_bytes, of.mapped.bytes)), of.node));
    let peak_ns = if peak_bytes == 0 { 0 } else { context.time(peak_ticks) };
    Some(Mappings {
        live_bytes,
        break_bytes,
        reserved_bytes,
        peak_bytes,
        peak_ns,
        mapped,
        stacks,
        is_incomplete,
        unfollowed_calls: 0,
    })
}
