//! `leak`: what was live when its process ended, but for what runtime libraries keep on purpose.

use super::finding::{Evidence, Finding, Kind, Level};
use super::judge;
use super::limits::LEAK_BYTES;
use super::owners::{Owners, culprits};
use crate::answer::{Amount, Answer, Holder, NodeId};
use std::collections::BTreeMap;

/// Looks for it.
pub(super) fn find(answer: &Answer, owners: &Owners) -> Vec<Finding> {
    let ended = answer.processes.iter().filter(|process| process.ended.is_end());
    let mut held: BTreeMap<NodeId, Amount> = BTreeMap::new();
    for Holder { node, held: of_stack } in ended.flat_map(|process| &process.leaked_stacks) {
        if !owners.of_runtime.contains(node) {
            held.entry(*node).or_default().add(of_stack);
        }
    }
    let ranked = owners.ranked(answer, |stack| held.get(&stack.node).copied().unwrap_or_default());
    let mut left = Amount::default();
    ranked.iter().for_each(|owned| left.add(&owned.amount));
    if left.bytes < LEAK_BYTES {
        return Vec::new();
    }
    let ages = ranked.iter().flat_map(|owned| &owned.stacks).filter_map(|(stack, _)| stack.leaked_age);
    let oldest_ns = ages.map(|age| age.oldest_ns).max();
    let (culprits, more) = culprits(&ranked);
    let sure = judge::confidence(answer);
    vec![Finding {
        kind: Kind::Leak,
        severity: severity(left.bytes, answer),
        // What a pointer still reaches at exit is often kept on purpose, and nothing here tells the two apart.
        confidence: if sure == Level::High { Level::Medium } else { sure },
        evidence: Evidence::Leak { left, owners: ranked.len() as u64, oldest_ns },
        culprits,
        more,
    }]
}

/// Never high: programs that end soon leave blocks to the system on purpose.
fn severity(bytes: u64, answer: &Answer) -> Level {
    judge::of_bytes(bytes, answer).max(Level::Medium)
}
