//! `foreign-free`: blocks that other threads free than those that allocated them, which costs locks and, in heaps with
//! arenas, memory.

use super::finding::{Evidence, Finding, Kind};
use super::judge;
use super::limits::{FOREIGN_FREE_BLOCKS, FOREIGN_FREE_PERCENT};
use super::owners::{Owned, Owners};
use crate::answer::{Amount, Answer, Stack};

/// Looks for them.
pub(super) fn find(answer: &Answer, owners: &Owners) -> Vec<Finding> {
    let by_others = |stack: &Stack| match stack.freed_by_others {
        0 => Amount::default(),
        blocks => Amount { blocks, bytes: 0 },
    };
    let ranked = owners.ranked(answer, by_others);
    let are_many = |owned: &&Owned<'_>| {
        let freed = owned.sum(|stack| stack.freed.blocks);
        owned.amount.blocks >= FOREIGN_FREE_BLOCKS
            && judge::is_part(owned.amount.blocks, FOREIGN_FREE_PERCENT, freed)
    };
    ranked.iter().filter(are_many).map(|owned| finding(answer, owned)).collect()
}

fn finding(answer: &Answer, owned: &Owned<'_>) -> Finding {
    Finding {
        kind: Kind::ForeignFree,
        severity: judge::of_calls(owned.amount.blocks, answer),
        confidence: judge::confidence(answer),
        evidence: Evidence::ForeignFree {
            freed: owned.sum(|stack| stack.freed.blocks),
            by_others: owned.amount.blocks,
        },
        culprits: vec![owned.culprit()],
        more: 0,
    }
}
