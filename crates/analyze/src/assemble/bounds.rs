//! What losses leave of the figures of all processes together.

use std::collections::BTreeMap;

use heapscribe_formats::Evicted;

use super::amounts::amount;
use crate::answer::{Amount, Answer, Bounds, FigureBounds, NodeId, Stack, StackBounds};
use crate::losses::{Losses, Seen};
use crate::peak::Held;

/// The bounds of all processes together.
#[derive(Debug, Default)]
pub(super) struct BoundsAssembly {
    /// Whether any figure is touched.
    is_any: bool,
    /// Whether the heap may have been larger than it was seen.
    is_peak_open: bool,
    /// Whether a stack may have done more than was seen.
    has_open_stacks: bool,
    sums: FigureBounds,
    /// The largest of the least peaks of processes, bytes.
    least_peak: u64,
    excess: Amount,
    /// What stacks may have freed of what they seem to hold.
    more: BTreeMap<NodeId, Amount>,
}

impl BoundsAssembly {
    /// Takes a process, and by how much its events say more than its table, by stack; gives its own bounds.
    pub(super) fn take(
        &mut self,
        losses: &Losses,
        seen: &Seen,
        more: &BTreeMap<NodeId, Amount>,
    ) -> Option<FigureBounds> {
        let bounds = losses.bounds(seen);
        self.sums.allocated.add(&bounds.allocated);
        self.sums.freed.add(&bounds.freed);
        self.sums.leaked.add(&bounds.leaked);
        self.least_peak = self.least_peak.max(bounds.peak.bytes.low);
        if !losses.is_any() {
            return None;
        }
        self.is_any = true;
        self.is_peak_open |= bounds.peak.bytes.high.is_none();
        self.excess.add(&losses.excess(seen));
        if !losses.bounds_stacks() {
            self.has_open_stacks = true;
        } else if seen.table.is_some() {
            more.iter().for_each(|(node, amount)| self.more.entry(*node).or_default().add(amount));
        }
        Some(bounds)
    }

    /// Takes processes of which a ring has left nothing; gives what they never freed.
    pub(super) fn evicted(&mut self, evicted: &Evicted) -> Amount {
        if evicted.is_empty() {
            return Amount::default();
        }
        let leaked = amount(&Held::left_by(evicted));
        self.sums.leaked.add(&Bounds::exact(leaked));
        (self.is_any, self.is_peak_open) = (true, true);
        leaked
    }

    /// The bounds of an answer.
    pub(super) fn of(self, answer: &Answer) -> Option<FigureBounds> {
        if !self.is_any || answer.sampling.is_some() {
            return None;
        }
        let peak = Amount { blocks: answer.peak.blocks, bytes: answer.peak.bytes };
        let least = peak.bytes.saturating_sub(self.excess.bytes).max(self.least_peak);
        let of_stack = |stack: &Stack| {
            let more = self.more.get(&stack.node).copied().unwrap_or_default();
            let mut most = stack.leaked;
            most.add(&more);
            StackBounds {
                at_peak: Bounds::between(stack.at_peak.minus(more), Some(stack.at_peak)),
                leaked: Bounds::between(stack.leaked, Some(most)),
            }
        };
        let are_known = !self.has_open_stacks && !self.more.is_empty();
        let stacks = if are_known { answer.stacks.iter().map(of_stack).collect() } else { Vec::new() };
        Some(FigureBounds { peak: Bounds::of_peak(peak, least, self.is_peak_open), stacks, ..self.sums })
    }
}
