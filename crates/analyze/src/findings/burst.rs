//! `burst`: the heap rose steeply to its peak and fell again. Who rose made the peak; the others were merely there. What
//! an owner rose by is what it holds more than before, so that all rises less all falls are the rise of the heap.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::finding::{Evidence, Finding, Kind, There};
use super::judge;
use super::limits::BURST_THERE_PERCENT;
use super::owners::{Owned, OwnerKey, Owners, culprits};
use crate::answer::{Amount, Answer, Stack};

/// Looks for it.
pub(super) fn find(answer: &Answer, owners: &Owners) -> Vec<Finding> {
    let Some(ascent) = answer.ascent else { return Vec::new() };
    let ranked = risen(answer, owners);
    let there = owners.ranked(answer, |stack| stack.before_peak);
    let is_much =
        |owned: &&Owned<'_>| judge::is_part(owned.amount.bytes, BURST_THERE_PERCENT, answer.peak.bytes);
    let held = |owned: &Owned<'_>| There {
        node: owned.culprit().node,
        before_bytes: owned.amount.bytes,
        at_peak_bytes: at_peak(key(owned, owners), answer, owners),
    };
    let rose_bytes = answer.peak.bytes.saturating_sub(ascent.bytes);
    let (culprits, more) = culprits(&ranked);
    let was_off = answer.processes.iter().any(|process| !process.off.is_empty());
    if culprits.is_empty() || was_off || judge::may_be_freed_by_any(rose_bytes, answer) {
        return Vec::new();
    }
    vec![Finding {
        kind: Kind::Burst,
        severity: judge::of_bytes(rose_bytes, answer),
        confidence: judge::confidence(answer),
        evidence: Evidence::Burst {
            rose_bytes,
            within_ns: answer.peak.time_ns.saturating_sub(ascent.time_ns),
            peak_bytes: answer.peak.bytes,
            there_bytes: ascent.bytes,
            there: there.first().filter(is_much).map(held),
        },
        culprits,
        more,
    }]
}

/// Owners that hold more at the peak than before, by how much, the one that rose most first.
fn risen<'a>(answer: &'a Answer, owners: &Owners) -> Vec<Owned<'a>> {
    let fallen: BTreeMap<OwnerKey, Amount> =
        owners.ranked(answer, fall).iter().map(|owned| (key(owned, owners), owned.amount)).collect();
    let mut risen = owners.ranked(answer, rise);
    for owned in &mut risen {
        let fall = fallen.get(&key(owned, owners)).copied().unwrap_or_default();
        owned.amount = less(owned.amount, fall);
    }
    risen.retain(|owned| owned.amount.bytes > 0);
    risen.sort_by_key(|owned| Reverse(owned.amount.bytes));
    risen
}

fn key(owned: &Owned<'_>, owners: &Owners) -> OwnerKey {
    owners.key(owned.culprit().node)
}

/// What an owner held at the peak.
fn at_peak(owner: OwnerKey, answer: &Answer, owners: &Owners) -> u64 {
    let its = answer.stacks.iter().filter(|stack| owners.key(stack.node) == owner);
    its.map(|stack| stack.at_peak.bytes).fold(0, u64::saturating_add)
}

fn rise(stack: &Stack) -> Amount {
    less(stack.at_peak, stack.before_peak)
}

fn fall(stack: &Stack) -> Amount {
    less(stack.before_peak, stack.at_peak)
}

fn less(amount: Amount, by: Amount) -> Amount {
    Amount { blocks: amount.blocks.saturating_sub(by.blocks), bytes: amount.bytes.saturating_sub(by.bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Ascent, NodeId, Peak};

    /// Stacks as owner, bytes before and bytes at the peak; which owner's stack rose by how much.
    fn check(stacks: &[(u32, u64, u64)], expected: &[(u32, u64)]) {
        let held = |bytes| Amount { blocks: 1, bytes };
        let stack = |(node, (_, before, at)): (u32, &(u32, u64, u64))| Stack {
            node: NodeId(node),
            before_peak: held(*before),
            at_peak: held(*at),
            ..Stack::default()
        };
        let sum = |of: fn(&(u32, u64, u64)) -> u64| stacks.iter().map(of).sum::<u64>();
        let (before, at) = (sum(|stack| stack.1), sum(|stack| stack.2));
        let answer = Answer {
            stacks: (1..).zip(stacks).map(stack).collect(),
            ascent: Some(Ascent { time_ns: 1, bytes: before }),
            peak: Peak { bytes: at, time_ns: 5, ..Peak::default() },
            ..Answer::default()
        };
        let of = (1..).zip(stacks).map(|(node, (owner, ..))| (NodeId(node), *owner)).collect();
        let owners = Owners { of, ..Owners::default() };
        let [finding] = &find(&answer, &owners)[..] else { panic!("one burst") };
        let risen: Vec<(u32, u64)> =
            finding.culprits.iter().map(|of| (owners.of[&of.node], of.amount.bytes)).collect();
        assert_eq!(risen, expected, "{stacks:?}");
        let Evidence::Burst { rose_bytes, .. } = finding.evidence else { panic!("a burst") };
        assert_eq!(rose_bytes, at - before);
    }

    #[test]
    fn an_owner_rose_by_what_all_its_stacks_hold_more() {
        check(&[(7, 100, 900)], &[(7, 800)]);
        // A buffer that another function of the same owner replaces.
        check(&[(7, 0, 900), (7, 300, 0)], &[(7, 600)]);
        check(&[(7, 0, 900), (7, 300, 0), (8, 0, 700)], &[(8, 700), (7, 600)]);
        // More than the heap rose, as others fell meanwhile.
        check(&[(7, 0, 900), (8, 300, 100)], &[(7, 900)]);
    }
}
