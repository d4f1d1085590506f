//! What losses leave of the figures of all processes together.

use std::collections::BTreeMap;

use heapscribe_formats::model::{EndedImages, Evicted, UNKNOWN};

use super::lives::Lives;
use crate::answer::{Amount, Answer, Bounds, FigureBounds, NodeId, Range, Stack, StackBounds};
use crate::losses::{EstimateLosses, Losses, Seen, and_others};

/// The bounds of all processes together.
#[derive(Debug, Default)]
pub(super) struct BoundsAssembly {
    /// Whether any figure is touched.
    is_any: bool,
    /// Whether a process may have held more than is known.
    is_peak_open: bool,
    /// Whether there is a window of a ring, before which the peak of all may have been.
    is_window: bool,
    /// Whether a stack may have done more than was seen.
    has_open_stacks: bool,
    /// What is known of samples where a process lacks more than they can tell.
    of_samples: Option<FigureBounds>,
    /// How losses touch estimates.
    of_estimates: EstimateLosses,
    sums: FigureBounds,
    /// The largest of the least peaks of processes, bytes.
    least_peak: u64,
    /// The most that processes held, each by itself, and when they lived.
    lives: Lives,
    /// The most that those held at a time of which a ring has left nothing, bytes.
    evicted_bytes: u64,
    excess: Amount,
    /// What stacks may have freed of what they seem to hold.
    more: BTreeMap<NodeId, Amount>,
}

impl BoundsAssembly {
    /// Of no process yet, of a recording that has a window of a ring or none.
    pub(super) fn new(is_window: bool) -> BoundsAssembly {
        BoundsAssembly { is_window, ..BoundsAssembly::default() }
    }

    /// Takes a process, when it began and ended, and by how much its events say more than its table, by stack; gives its own
    /// bounds.
    pub(super) fn take(
        &mut self,
        losses: &Losses,
        seen: &Seen,
        more: &BTreeMap<NodeId, Amount>,
        (begin_ns, end_ns): (u64, Option<u64>),
    ) -> Option<FigureBounds> {
        let bounds = losses.bounds(seen);
        self.sums.allocated.add(&bounds.allocated);
        self.sums.freed.add(&bounds.freed);
        self.sums.leaked.add(&bounds.leaked);
        self.least_peak = self.least_peak.max(bounds.peak.bytes.low);
        self.lives.add(begin_ns, end_ns, bounds.peak.bytes.high.unwrap_or(0));
        self.of_samples = self.of_samples.take().or_else(|| losses.bounds_of_samples(seen));
        self.of_estimates.add(losses.touch_estimates(seen.table.is_some()));
        if !losses.is_any() {
            return None;
        }
        self.is_any = true;
        self.is_peak_open |= bounds.peak.bytes.high.is_none();
        self.excess.add(&losses.excess(seen));
        if !losses.bounds_stacks() || seen.table.is_none() {
            self.has_open_stacks = true;
        } else {
            more.iter().for_each(|(node, amount)| self.more.entry(*node).or_default().add(amount));
        }
        Some(bounds)
    }

    /// Takes processes of which a ring has left nothing, and between what the blocks lie that they never freed.
    pub(super) fn evicted(&mut self, evicted: &Evicted, leaked: &Bounds) {
        if evicted.is_empty() {
            return;
        }
        let lost = evicted.ended.lost_events.max(evicted.lost_events);
        let amount = |blocks, bytes| and_others(Amount { blocks, bytes }, lost);
        self.sums.allocated.add(&amount(evicted.allocated_blocks, evicted.allocated_bytes));
        self.sums.freed.add(&amount(evicted.freed_blocks, evicted.freed_bytes));
        self.sums.leaked.add(leaked);
        // The weights of their samples went with their events.
        self.of_estimates.add(EstimateLosses::of_evicted());
        self.is_any = true;
        let EndedImages { images, one_peak_bytes, peaks_bytes, .. } = evicted.ended;
        self.least_peak = self.least_peak.max(one_peak_bytes);
        self.evicted_bytes = peaks_bytes;
        self.is_peak_open |= images < evicted.processes || peaks_bytes == UNKNOWN;
    }

    /// The bounds of an answer.
    pub(super) fn of(&self, answer: &Answer) -> Option<FigureBounds> {
        if let Some(s) = &answer.sampling {
            let of_estimates = || self.of_estimates.bounds([&s.allocated, &s.freed, &s.peak, &s.leaked]);
            return self.of_samples.clone().or_else(of_estimates);
        }
        if !self.is_any {
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
        Some(FigureBounds { peak: self.peak(peak, least), stacks, ..self.sums.clone() })
    }

    /// Between what the peak of all lies, of which this much was seen and which was no less than so many bytes.
    fn peak(&self, seen: Amount, least: u64) -> Bounds {
        if !self.is_window {
            return Bounds::of_peak(seen, least, self.is_peak_open);
        }
        let together = || self.evicted_bytes.saturating_add(self.lives.most_bytes());
        let high = (!self.is_peak_open).then(|| together().max(least));
        match high {
            Some(high) if high == seen.bytes && least == high => Bounds::exact(seen),
            _ => Bounds { blocks: Range { low: 0, high: None }, bytes: Range { low: least, high } },
        }
    }
}
