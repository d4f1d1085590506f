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
        // The more severe of both.
        severity: judge::of_calls(owned.amount.blocks, answer)
            .min(judge::of_copies(owned.amount.bytes, answer)),
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
    use crate::answer::{Amount, NodeId, Patterns, Stack, Totals};
    use crate::findings::finding::Level;

    /// Of a program that makes 100,000 allocations of 1 GiB in all.
    fn check(blocks: u64, bytes: u64, expected: Option<Level>) {
        let patterns = Patterns { small_steps: Amount { blocks, bytes }, ..Patterns::default() };
        let stacks = vec![Stack { node: NodeId(1), patterns, ..Stack::default() }];
        let totals = Totals { allocations: 100_000, allocated_bytes: 1 << 30, ..Totals::default() };
        let answer = Answer { stacks, totals, ..Answer::default() };
        let found = find(&answer, &Owners::default());
        assert_eq!(found.first().map(|finding| finding.severity), expected, "{blocks} of {bytes}");
    }

    #[test]
    fn many_steps_that_copy_much_are_found() {
        check(300, 2 << 20, Some(Level::Low));
        check(300, 20 << 10, None);
        check(200, 2 << 20, None);
    }

    /// php: few steps, which may have copied nearly all that was allocated.
    #[test]
    fn severity_is_that_of_the_calls_or_of_the_copies() {
        check(300, 1000 << 20, Some(Level::Medium));
        check(30_000, 2 << 20, Some(Level::Medium));
    }
}
