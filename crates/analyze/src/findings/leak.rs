//! `leak`: what was live when its process ended, but for what runtime libraries keep on purpose. What a signal killed had
//! no chance to free its blocks, so of these it says only that they were live.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Evidence, Finding, Kind, Level};
use super::judge;
use super::limits::LEAK_BYTES;
use super::owners::{Owners, culprits};
use crate::answer::{Amount, Answer, Ended, Exit, Holder, NodeId, Process};

/// Looks for it.
pub(super) fn find(answer: &Answer, owners: &Owners) -> Vec<Finding> {
    let ended = || answer.processes.iter().filter(|process| process.ended.is_end());
    let signals: BTreeSet<Option<i32>> = ended().map(|process| killed_by(process, answer)).collect();
    // None, of those that exited, is the first.
    let of_signal = |signal| {
        let (held, on_purpose) = held(ended().filter(|process| killed_by(process, answer) == signal), owners);
        finding(&held, on_purpose, signal, answer, owners)
    };
    signals.into_iter().filter_map(of_signal).collect()
}

/// The signal that killed a process. The exit of the recording is that of the command, which is the first process.
fn killed_by(process: &Process, answer: &Answer) -> Option<i32> {
    let is_command = answer.processes.first().is_some_and(|first| first.pid == process.pid);
    match (process.ended, answer.exit) {
        (Ended::Killed(signal), _) => Some(signal.into()),
        (_, Some(Exit::Signal(signal))) if is_command => Some(signal),
        _ => None,
    }
}

/// What processes held at their ends, by stack, and what of it may stay.
fn held<'a>(
    processes: impl Iterator<Item = &'a Process>,
    owners: &Owners,
) -> (BTreeMap<NodeId, Amount>, Amount) {
    let mut held: BTreeMap<NodeId, Amount> = BTreeMap::new();
    let mut on_purpose = Amount::default();
    for Holder { node, held: of_stack } in processes.flat_map(|process| &process.leaked_stacks) {
        let is_accepted = owners.of_runtime.contains(node);
        let of = if is_accepted { &mut on_purpose } else { held.entry(*node).or_default() };
        of.add(of_stack);
    }
    (held, on_purpose)
}

fn finding(
    held: &BTreeMap<NodeId, Amount>,
    on_purpose: Amount,
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
        evidence: Evidence::Leak { left, owners: ranked.len() as u64, oldest_ns, killed_by, on_purpose },
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
    use crate::answer::Stack;

    /// Bytes left in processes of these numbers; how many were leaked, and how many live when a signal killed it.
    fn check(exit: Option<Exit>, left: &[(u32, u64)], expected: &[(u64, Option<i32>, Level)]) {
        let left: Vec<_> = left.iter().map(|(pid, bytes)| (*pid, *bytes, Ended::Exited)).collect();
        check_ends(exit, &left, expected);
    }

    fn check_ends(exit: Option<Exit>, left: &[(u32, u64, Ended)], expected: &[(u64, Option<i32>, Level)]) {
        let process = |(pid, bytes, ended): &(u32, u64, Ended)| Process {
            pid: *pid,
            ended: *ended,
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
        let children = [(9, 100, Ended::Exited), (10, 300, Ended::Killed(15)), (11, 40, Ended::Unseen)];
        let expected = [(140, None, Level::Medium), (300, Some(15), Level::Low)];
        check_ends(Some(Exit::Code(0)), &children, &expected);
    }
}
