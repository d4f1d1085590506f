//! What lives long and is large: blocks of [`LARGE_BYTES`] or more that lived for at least [`LONG_PERCENT`] of their
//! process's life, freed or not. It is no finding: a program that holds what it needs does
//! nothing wrong. A `late-free` is about a part of them.

use super::finding::Culprit;
use super::limits::{LATE_FREE_AGE_PERCENT, LATE_FREE_BLOCK_BYTES};
use super::owners::{Owned, Owners};
use crate::answer::{Amount, Answer, Stack};

/// A block of this size is large.
pub const LARGE_BYTES: u64 = LATE_FREE_BLOCK_BYTES;
/// A block that lived for such a part of its process's life lived for long.
pub const LONG_PERCENT: u64 = LATE_FREE_AGE_PERCENT;

/// Large blocks that lived for long.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LongLived {
    /// All of them, of all processes.
    pub all: Amount,
    /// Of these, what was freed.
    pub freed: Amount,
    /// Who allocated them, and what of it was freed; the one with most bytes first.
    pub owners: Vec<(Culprit, Amount)>,
    /// Whether no block of them is missing, nor one too many that was freed unseen.
    pub is_exact: bool,
}

/// Adds them up by owner, without what runtime libraries keep on purpose; `None` of a recording that has lost the allocations of blocks that were old.
pub fn long_lived(answer: &Answer, owners: &Owners) -> Option<LongLived> {
    if !answer.evicted.is_empty() {
        return None;
    }
    let is_kept_on_purpose = |stack: &Stack| owners.of_runtime.contains(&stack.node);
    let ranked = owners.ranked(answer, |stack| match is_kept_on_purpose(stack) {
        true => Amount::default(),
        false => stack.patterns.long_lived,
    });
    let freed = |of: fn(&Stack) -> u64, owned: &Owned<'_>| owned.sum(of);
    let freed = |owned: &Owned<'_>| Amount {
        blocks: freed(|stack| stack.patterns.long_lived_freed.blocks, owned),
        bytes: freed(|stack| stack.patterns.long_lived_freed.bytes, owned),
    };
    let mut long_lived = LongLived { is_exact: answer.bounds.is_none(), ..LongLived::default() };
    for owned in &ranked {
        let freed = freed(owned);
        long_lived.all.add(&owned.amount);
        long_lived.freed.add(&freed);
        long_lived.owners.push((owned.culprit(), freed));
    }
    Some(long_lived)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{NodeId, Patterns};

    #[test]
    fn stacks_of_one_owner_are_one_sum() {
        let stack = |node, bytes, freed| Stack {
            node: NodeId(node),
            patterns: Patterns {
                long_lived: Amount { blocks: 1, bytes },
                long_lived_freed: Amount { blocks: freed / bytes, bytes: freed },
                ..Patterns::default()
            },
            ..Stack::default()
        };
        let stacks = vec![stack(1, 100, 0), stack(2, 300, 300), stack(3, 350, 0), Stack::default()];
        let answer = Answer { stacks, ..Answer::default() };
        let owners = Owners { of: [(NodeId(1), 7), (NodeId(2), 7)].into(), ..Owners::default() };
        let found = long_lived(&answer, &owners).unwrap();
        assert_eq!(
            (found.all, found.freed),
            (Amount { blocks: 3, bytes: 750 }, Amount { blocks: 1, bytes: 300 })
        );
        let rows: Vec<_> = found
            .owners
            .iter()
            .map(|(of, freed)| (of.node.0, of.stacks, of.amount.bytes, freed.bytes))
            .collect();
        assert_eq!(rows, [(2, 2, 400, 300), (3, 1, 350, 0)]);
        assert!(found.is_exact);
        let owners = Owners { of_runtime: [NodeId(3)].into(), ..owners };
        let found = long_lived(&answer, &owners).unwrap();
        assert_eq!((found.all.blocks, found.all.bytes, found.owners.len()), (2, 400, 1));
    }
}
