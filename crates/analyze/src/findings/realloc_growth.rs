//! `realloc-growth`: blocks that grow by small steps, each of which may copy all of the block. Small blocks copy too
//! little to be worth a change.

use super::finding::{Evidence, Finding, Kind};
use super::judge;
use super::limits::{SMALL_STEPS, SMALL_STEPS_COPIED_BYTES};
use super::owners::{Owned, Owners};
use crate::answer::Answer;

/// Looks for them.
pub(super) fn find(answer: &Answer, owners: &Owners) -> Vec<Finding> {
    let ranked = owners.ranked(answer, |stack| stack.patterns.small_steps);
    let are_many = |owned: &&Owned<'_>| {
        owned.amount.blocks >= SMALL_STEPS && owned.amount.bytes >= SMALL_STEPS_COPIED_BYTES
    };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Amount, NodeId, Patterns, Stack};

    fn check(blocks: u64, bytes: u64, expected: usize) {
        let patterns = Patterns { small_steps: Amount { blocks, bytes }, ..Patterns::default() };
        let stacks = vec![Stack { node: NodeId(1), patterns, ..Stack::default() }];
        let answer = Answer { stacks, ..Answer::default() };
        assert_eq!(find(&answer, &Owners::default()).len(), expected, "{blocks} of {bytes}");
    }

    #[test]
    fn many_steps_that_copy_much_are_found() {
        check(300, 2 << 20, 1);
        check(300, 20 << 10, 0);
        check(200, 2 << 20, 0);
    }
}
