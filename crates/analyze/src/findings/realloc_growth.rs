//! `realloc-growth`: blocks that grow by small steps, each of which may copy all of the block.

use super::finding::{Evidence, Finding, Kind};
use super::judge;
use super::limits::SMALL_STEPS;
use super::owners::{Owned, Owners};
use crate::answer::Answer;

/// Looks for them.
pub(super) fn find(answer: &Answer, owners: &Owners) -> Vec<Finding> {
    let ranked = owners.ranked(answer, |stack| stack.patterns.small_steps);
    let are_many = |owned: &&Owned<'_>| owned.amount.blocks >= SMALL_STEPS;
    ranked.iter().filter(are_many).map(|owned| finding(answer, owned)).collect()
}

fn finding(answer: &Answer, owned: &Owned<'_>) -> Finding {
    Finding {
        kind: Kind::ReallocGrowth,
        severity: judge::of_calls(owned.amount.blocks, answer),
        confidence: judge::confidence(answer),
        evidence: Evidence::ReallocGrowth {
            steps: owned.amount.blocks,
            copied_bytes_max: owned.amount.bytes,
            largest_bytes: owned.max(|stack| stack.size_max_bytes),
        },
        culprits: vec![owned.culprit()],
        more: 0,
    }
}
