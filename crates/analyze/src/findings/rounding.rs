//! `rounding`: blocks of which the heap takes much more than was asked for: very small ones, those a little above a size
//! class, and those that ask for an alignment far above their size. Counted as glibc's heap does.

use super::finding::{Evidence, Finding, Kind, Level};
use super::judge;
use super::limits::{ROUNDING_BYTES, ROUNDING_PERCENT};
use super::owners::{Owned, Owners};
use crate::answer::{self, AllBlocks, Amount, Answer, Stack};

/// Looks for it.
pub(super) fn find(answer: &Answer, owners: &Owners) -> Vec<Finding> {
    let rounded = |owned: &Owned<'_>| finding(answer, owned, false);
    let aligned = |owned: &Owned<'_>| finding(answer, owned, true);
    let by_size = owners.ranked(answer, |stack| wasted(stack, heap_bytes(stack)));
    let by_alignment = owners.ranked(answer, |stack| wasted(stack, padded_bytes(stack)));
    by_alignment.iter().filter_map(aligned).chain(by_size.iter().filter_map(rounded)).collect()
}

/// A part of what is known of all blocks of a stack, as large as what it held at the peak is of them.
fn part_at_peak(stack: &Stack, bytes: u64) -> u64 {
    let blocks = u128::from(stack.allocated.blocks.max(1));
    (u128::from(bytes) * u128::from(stack.at_peak.blocks) / blocks) as u64
}

/// What the heap took at the peak for a stack's blocks beyond what was asked for.
pub(super) fn overhead_bytes(stack: &Stack) -> u64 {
    let all = AllBlocks { allocated: stack.allocated, heap_bytes: stack.patterns.heap_bytes };
    answer::overhead_bytes(&stack.at_peak, &all)
}

/// What it took for them.
fn heap_bytes(stack: &Stack) -> u64 {
    stack.at_peak.bytes.saturating_add(overhead_bytes(stack))
}

/// What they would take if nothing lay between blocks that are aligned to more than their size.
fn padded_bytes(stack: &Stack) -> u64 {
    match part_at_peak(stack, stack.patterns.over_aligned.bytes) {
        0 => 0,
        padding => padding.saturating_add(stack.at_peak.bytes),
    }
}

fn wasted(stack: &Stack, heap_bytes: u64) -> Amount {
    match heap_bytes.saturating_sub(stack.at_peak.bytes) {
        0 => Amount::default(),
        bytes => Amount { blocks: stack.at_peak.blocks, bytes },
    }
}

fn finding(answer: &Answer, owned: &Owned<'_>, over_aligned: bool) -> Option<Finding> {
    let heap_bytes = owned.sum(if over_aligned { padded_bytes } else { heap_bytes });
    let wasted_bytes = owned.amount.bytes;
    let is_much =
        wasted_bytes >= ROUNDING_BYTES && judge::is_part(wasted_bytes, ROUNDING_PERCENT, heap_bytes);
    if !is_much || judge::may_be_freed_by_any(wasted_bytes, answer) {
        return None;
    }
    let mut at_peak = Amount::default();
    owned.stacks.iter().for_each(|(stack, _)| at_peak.add(&stack.at_peak));
    let is_known = |stack: &Stack| {
        stack.size_min_bytes == stack.size_max_bytes || stack.at_peak.blocks == stack.allocated.blocks
    };
    let is_exact = !over_aligned && owned.stacks.iter().all(|(stack, _)| is_known(stack));
    Some(Finding {
        kind: Kind::Rounding,
        severity: judge::of_bytes(wasted_bytes, answer).less(),
        confidence: if is_exact { judge::confidence(answer) } else { Level::Medium },
        evidence: Evidence::Rounding { at_peak, heap_bytes, wasted_bytes, over_aligned, is_exact },
        culprits: vec![owned.culprit()],
        more: 0,
    })
}
