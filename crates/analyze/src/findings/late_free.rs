//! `late-free`: large blocks that were held for most of a process's life and freed only at its end. Whether they were in
//! use all that time nothing here tells. Each process is looked at by itself: blocks of several were not live together.
//! Where one function does so in many processes, the one with most bytes stands for all.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::finding::{Evidence, Finding, Kind, Level};
use super::judge;
use super::limits::LATE_FREE_PEAK_PERCENT;
use super::owners::{Owned, OwnerKey, Owners};
use crate::answer::{Answer, Process};

/// Looks for them, process by process.
pub(super) fn find(answer: &Answer, owners: &Owners) -> Vec<Finding> {
    let mut most: BTreeMap<OwnerKey, (usize, Owned<'_>)> = BTreeMap::new();
    for (number, process) in answer.processes.iter().enumerate() {
        for (owner, owned) in by_owner(answer, owners, process) {
            let first = most.entry(owner).or_default();
            if owned.amount.bytes > first.1.amount.bytes {
                *first = (number, owned);
            }
        }
    }
    let mut ranked: Vec<_> = most.into_values().collect();
    ranked.sort_by_key(|(_, owned)| (Reverse(owned.amount.bytes), owned.culprit().node));
    let is_much =
        |owned: &Owned<'_>| judge::is_part(owned.amount.bytes, LATE_FREE_PEAK_PERCENT, answer.peak.bytes);
    let much = ranked.iter().filter(|(_, owned)| is_much(owned));
    much.map(|(process, owned)| finding(answer, *process, owned)).collect()
}

/// The late blocks of a process.
fn by_owner<'a>(answer: &'a Answer, owners: &Owners, process: &Process) -> BTreeMap<OwnerKey, Owned<'a>> {
    let mut by_owner: BTreeMap<OwnerKey, Owned<'_>> = BTreeMap::new();
    for holder in &process.freed_late {
        let Ok(at) = answer.stacks.binary_search_by_key(&holder.node, |stack| stack.node) else { continue };
        let owned = by_owner.entry(owners.key(holder.node)).or_default();
        owned.stacks.push((&answer.stacks[at], holder.held));
        owned.amount.add(&holder.held);
    }
    by_owner
}

fn finding(answer: &Answer, process: usize, owned: &Owned<'_>) -> Finding {
    Finding {
        kind: Kind::LateFree,
        severity: judge::of_bytes(owned.amount.bytes, answer).less(),
        confidence: Level::Low,
        evidence: Evidence::LateFree {
            process,
            freed: owned.amount,
            largest_bytes: owned.max(|stack| stack.size_max_bytes),
        },
        culprits: vec![owned.culprit()],
        more: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Amount, Holder, NodeId, Peak, Stack};

    fn process(held_bytes: &[(u32, u64)]) -> Process {
        let holder = |(node, bytes): &(u32, u64)| Holder {
            node: NodeId(*node),
            held: Amount { blocks: 1, bytes: *bytes },
        };
        Process { freed_late: held_bytes.iter().map(holder).collect(), ..Process::default() }
    }

    /// Two processes with the same function, of which the second has two stacks: its blocks are not added to the others'.
    #[test]
    fn blocks_of_several_processes_are_not_one_sum() {
        let stacks = [1, 2].map(|node| Stack { node: NodeId(node), ..Stack::default() });
        let answer = Answer {
            processes: vec![process(&[(1, 300)]), process(&[(1, 250), (2, 150)]), process(&[(2, 390)])],
            stacks: stacks.to_vec(),
            peak: Peak { bytes: 500, ..Peak::default() },
            ..Answer::default()
        };
        let owners = Owners { of: [(NodeId(1), 7), (NodeId(2), 7)].into(), ..Owners::default() };
        let found = find(&answer, &owners);
        let of = |finding: &Finding| match finding.evidence {
            Evidence::LateFree { process, freed, .. } => (process, freed.bytes, freed.blocks),
            _ => (0, 0, 0),
        };
        assert_eq!(found.iter().map(of).collect::<Vec<_>>(), [(1, 400, 2)]);
    }
}
