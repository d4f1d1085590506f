//! The first level of the stacks of several processes: which process a stack is of, and what its box is called.
//!
//! A box is a process, as long as there are few enough to be read. Of a build with hundreds of them the processes of
//! one program share a box; `--process` and `--pid` take them apart.

use std::collections::{BTreeMap, BTreeSet};

use heapscribe_analyze::answer::{CallTree, NodeId, Process};

use crate::text::tables::program;

/// Processes that have a box each.
const SINGLE_MAX: usize = 12;

/// The process that a stack is of, where the tree keeps processes apart.
pub fn process(tree: &CallTree, stack: NodeId) -> Option<usize> {
    tree.frames(stack).last().and_then(|(_, frame)| frame.process())
}

/// What the boxes of the processes of these stacks are called; nothing when they are all of one.
pub fn labels(
    tree: &CallTree,
    processes: &[Process],
    stacks: impl Iterator<Item = NodeId>,
) -> BTreeMap<usize, String> {
    let drawn: BTreeSet<usize> = stacks.filter_map(|stack| process(tree, stack)).collect();
    let drawn: Vec<(usize, &Process)> =
        drawn.into_iter().filter_map(|number| Some((number, processes.get(number)?))).collect();
    match drawn.len() {
        0 | 1 => BTreeMap::new(),
        2..=SINGLE_MAX => one_by_one(&drawn),
        _ => by_program(&drawn),
    }
}

/// `make (pid 17)`; where a process executed its own program anew, `make (pid 17, image 2)`.
fn one_by_one(drawn: &[(usize, &Process)]) -> BTreeMap<usize, String> {
    let mut images: BTreeMap<(String, u32), Vec<usize>> = BTreeMap::new();
    for (number, process) in drawn {
        images.entry((program(process), process.pid)).or_default().push(*number);
    }
    let label = |name: &str, pid: u32, image: usize, of: usize| match of {
        1 => format!("{name} (pid {pid})"),
        _ => format!("{name} (pid {pid}, image {})", image + 1),
    };
    let of_image = images.iter().flat_map(|((name, pid), all)| {
        all.iter().enumerate().map(move |(n, number)| (*number, label(name, *pid, n, all.len())))
    });
    of_image.collect()
}

/// `cc1 (57 processes)`.
fn by_program(drawn: &[(usize, &Process)]) -> BTreeMap<usize, String> {
    let mut programs: BTreeMap<String, Vec<(usize, u32)>> = BTreeMap::new();
    for (number, process) in drawn {
        programs.entry(program(process)).or_default().push((*number, process.pid));
    }
    let label = |name: &str, all: &[(usize, u32)]| match all {
        [(_, pid)] => format!("{name} (pid {pid})"),
        _ => format!("{name} ({} processes)", all.len()),
    };
    let of_program = programs
        .iter()
        .flat_map(|(name, all)| all.iter().map(move |(number, _)| (*number, label(name, all))));
    of_program.collect()
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::{Frame, Node};

    use super::*;

    /// The labels of processes, each `PROGRAM PID` with a stack of one frame of its own; `-` before it has no stack.
    fn check(processes: &[&str], expected: &[&str]) {
        let parse = |line: &str| {
            let (program, pid) = line.trim_start_matches('-').split_once(' ').unwrap();
            let exe = format!("/usr/bin/{program}").into_bytes();
            Process { pid: pid.parse().unwrap(), exe, ..Process::default() }
        };
        let all: Vec<Process> = processes.iter().map(|line| parse(line)).collect();
        let (mut tree, mut stacks) = (CallTree::default(), Vec::new());
        for number in (0..all.len()).filter(|number| !processes[*number].starts_with('-')) {
            let parent = NodeId(tree.nodes.len() as u32);
            tree.nodes.push(Node { parent: NodeId::ROOT, frame: Frame::of_process(number) });
            tree.nodes.push(Node { parent, frame: Frame::default() });
            stacks.push(NodeId(parent.0 + 1));
        }
        let labels = labels(&tree, &all, stacks.into_iter());
        assert_eq!(labels.values().collect::<Vec<_>>(), expected, "{processes:?}");
    }

    #[test]
    fn processes_are_named_as_long_as_they_can_be_read() {
        check(&["sh 1", "-cc 2"], &[]);
        check(&["sh 1", "cc 2", "cc 3"], &["sh (pid 1)", "cc (pid 2)", "cc (pid 3)"]);
        check(&["sh 1", "sh 1", "cc 1"], &["sh (pid 1, image 1)", "sh (pid 1, image 2)", "cc (pid 1)"]);
        let many: Vec<String> = (0..=SINGLE_MAX).map(|pid| format!("cc {pid}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).chain(["ld 99"]).collect();
        let mut expected = vec!["cc (13 processes)"; SINGLE_MAX + 1];
        expected.push("ld (pid 99)");
        check(&many, &expected);
    }
}
