//! `leak`: what was live when its process ended, but for what runtime libraries keep on purpose. What a signal killed had
//! no chance to free its blocks, so of these it says only that they were live.

use std::collections::BTreeMap;

use super::finding::{Evidence, Finding, Kind, Level};
use super::judge;
use super::limits::LEAK_BYTES;
use super::owners::{Owners, culprits};
use crate::answer::{Amount, Answer, Exit, Holder, NodeId, Process};

/// Looks for it.
pub(super) fn find(answer: &Answer, owners: &Owners) -> Vec<Finding> {
    let ended = || answer.processes.iter().filter(|process| process.ended.is_end());
    let killed_by = match answer.exit {
        Some(Exit::Signal(signal)) => Some(signal),
        _ => None,
    };
    // The exit is that of the command, which is the first process.
    let command = answer.processes.first().filter(|_| killed_by.is_some()).map(|process| process.pid);
    let is_killed = |process: &&Process| Some(process.pid) == command;
    let leaked = held(ended().filter(|process| !is_killed(process)), owners);
    let live = held(ended().filter(is_killed), owners);
    [finding(&leaked, None, answer, owners), finding(&live, killed_by, answer, owners)]
        .into_iter()
        .flatten()
        .collect()
}

/// What processes held at their ends, by stack.
fn held<'a>(processes: impl Iterator<Item = &'a Process>, owners: &Owners) -> BTreeMap<NodeId, Amount> {
    let mut held: BTreeMap<NodeId, Amount> = BTreeMap::new();
    for Holder { node, held: of_stack } in processes.flat_map(|process| &process.leaked_stacks) {
        if !owners.of_runtime.contains(node) {
            held.entry(*node).or_default().add(of_stack);
        }
    }
    held
}

fn finding(
    held: &BTreeMap<NodeId, Amount>,
    killed_by: Option<i32>,
    answer: &Answer,
    owners: &Owners,
) -> Option<Finding> {
    let ranked = owners.ranked(answer, |stack| held.get(&stack.node).copied().unwrap_or_default());
    let mut left = Amount::default();
    ranked.iter().for_each(|owned| left.add(&owned.amount));
    if left.bytes < LEAK_BYTES {
        return None;
    }
    let ages = ranked.iter().flat_map(|owned| &owned.stacks).filter_map(|(stack, _)| stack.leaked_age);
    let oldest_ns = ages.map(|age| age.oldest_ns).max();
    let (culprits, more) = culprits(&ranked);
    // What a pointer still reaches at exit is often kept on purpose, and nothing here tells the two apart.
    let sure = judge::confidence(answer).max(Level::Medium);
    let is_killed = killed_by.is_some();
    Some(Finding {
        kind: Kind::Leak,
        severity: if is_killed { Level::Low } else { severity(left.bytes, answer) },
        // Of a program of which nobody knows how it ended this may be true, too.
        confidence: if is_killed || answer.exit.is_none() { Level::Low } else { sure },
        evidence: Evidence::Leak { left, owners: ranked.len() as u64, oldest_ns, killed_by },
        culprits,
        more,
    })
}

/// Never high: programs that end soon leave blocks to the system on purpose.
fn severity(bytes: u64, answer: &Answer) -> Level {
    judge::of_bytes(bytes, answer).max(Level::Medium)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Ended, Stack};

    /// Bytes left in processes of these numbers; how many were leaked, and how many live when a signal killed it.
    fn check(exit: Option<Exit>, left: &[(u32, u64)], expected: &[(u64, Option<i32>, Level)]) {
        let process = |(pid, bytes): &(u32, u64)| Process {
            pid: *pid,
            ended: Ended::Exited,
            leaked_stacks: vec![Holder { node: NodeId(1), held: Amount { blocks: 1, bytes: *bytes } }],
            ..Process::default()
        };
        let answer = Answer {
            exit,
            processes: left.iter().map(process).collect(),
            stacks: vec![Stack { node: NodeId(1), ..Stack::default() }],
            ..Answer::default()
        };
        let findings = find(&answer, &Owners::default());
        let found = findings.iter().map(|finding| match finding.evidence {
            Evidence::Leak { left, killed_by, .. } => (left.bytes, killed_by, finding.confidence),
            _ => panic!("{finding:?}"),
        });
        assert_eq!(found.collect::<Vec<_>>(), expected, "{exit:?}");
    }

    #[test]
    fn what_a_signal_killed_has_no_leak() {
        check(Some(Exit::Code(0)), &[(9, 100)], &[(100, None, Level::Medium)]);
        check(None, &[(9, 100)], &[(100, None, Level::Low)]);
        check(Some(Exit::Signal(15)), &[(9, 100)], &[(100, Some(15), Level::Low)]);
        let both = [(300, None, Level::Medium), (150, Some(9), Level::Low)];
        check(Some(Exit::Signal(9)), &[(9, 100), (10, 300), (9, 50)], &both);
    }
}
