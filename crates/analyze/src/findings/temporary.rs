//! `temporary`: blocks that live for no other allocation, by the ten thousand: a loop that could use one buffer.

use super::finding::{Evidence, Finding, Kind};
use super::judge;
use super::limits::{TEMPORARY_BLOCKS, TEMPORARY_PERCENT};
use super::owners::{Owned, Owners};
use crate::answer::Answer;

/// Looks for them.
pub(super) fn find(answer: &Answer, owners: &Owners) -> Vec<Finding> {
    let ranked = owners.ranked(answer, |stack| stack.temporary);
    let is_loop = |owned: &&Owned<'_>| {
        let allocations = owned.sum(|stack| stack.allocated.blocks);
        owned.amount.blocks >= TEMPORARY_BLOCKS
            && judge::is_part(owned.amount.blocks, TEMPORARY_PERCENT, allocations)
    };
    ranked.iter().filter(is_loop).map(|owned| finding(answer, owned)).collect()
}

fn finding(answer: &Answer, owned: &Owned<'_>) -> Finding {
    Finding {
        kind: Kind::Temporary,
        severity: judge::of_calls(owned.amount.blocks, answer),
        confidence: judge::confidence(answer),
        evidence: Evidence::Temporary {
            temporary: owned.amount,
            allocations: owned.sum(|stack| stack.allocated.blocks),
            timed_calls: owned.sum(|stack| stack.patterns.timed_calls),
            took_ns: owned.sum(|stack| stack.patterns.took_ns),
        },
        culprits: vec![owned.culprit()],
        more: 0,
    }
}
