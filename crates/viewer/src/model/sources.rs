//! Lines of source files: which of them each stack goes through, and what was allocated there.
//!
//! Calls are kept by function, so they do not know the lines; these are the nodes of the call tree as it was recorded,
//! each with the lines of its frame. A stack counts for a line once, however often it goes through it.

use std::collections::{BTreeMap, BTreeSet};

use heapscribe_analyze::answer::{Amount, CallTree, NodeId};
use serde::Serialize;

use super::function::{FunctionId, Functions};
use super::unit::Unit;

/// The line that a call stands on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Line {
    pub(super) function: FunctionId,
    /// None where the debug information has none; then it has no file either.
    pub(super) line: Option<u32>,
}

/// The lines of all stacks.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// The caller of each node of the tree, which is before it, and its frame.
    nodes: Vec<(u32, u32)>,
    /// The lines of each frame, the innermost first; none of the recorder, of a process, and of the root.
    frames: Vec<Vec<Line>>,
    /// The node in which each stack ends, in the order of the tips of the calls.
    stacks: Vec<NodeId>,
}

/// Figures of the lines of a file.
#[derive(Serialize, PartialEq, Eq, Debug, Default)]
pub(crate) struct LineRows {
    line: Vec<u32>,
    /// What a call of the allocator on this line allocated.
    own_bytes: Vec<u64>,
    own_blocks: Vec<u64>,
    /// With all that is called there.
    bytes: Vec<u64>,
    blocks: Vec<u64>,
    /// The line of the function that is asked about which has most.
    #[serde(skip)]
    pub(crate) hottest: Option<u32>,
}

/// What a line allocated itself, and with all that it calls.
#[derive(Default)]
struct Sums {
    own: Amount,
    inclusive: Amount,
}

impl Sources {
    pub(super) fn new(
        tree: &CallTree,
        frames_of: &[u32],
        frames: Vec<Vec<Line>>,
        stacks: &[NodeId],
    ) -> Sources {
        let callers = tree.nodes.iter().map(|node| node.parent.0);
        Sources { nodes: callers.zip(frames_of.iter().copied()).collect(), frames, stacks: stacks.to_vec() }
    }

    /// Whether the debug information gives any line of a function: then its file is one of source.
    pub(crate) fn has_lines(&self, of: FunctionId) -> bool {
        self.frames.iter().flatten().any(|line| line.function == of && line.line.is_some())
    }

    /// Adds up what stacks allocated, by the lines of the file that a function is in.
    pub(crate) fn lines(
        &self,
        functions: &Functions,
        of: FunctionId,
        unit: Unit,
        by_stack: &[Amount],
    ) -> LineRows {
        let file = &functions.get(of).file;
        let is_in_file: Vec<bool> = functions.all().iter().map(|function| function.file == *file).collect();
        let lines = |frame: u32| -> BTreeSet<u32> {
            let of_file =
                self.frames[frame as usize].iter().filter(|line| is_in_file[line.function.0 as usize]);
            of_file.filter_map(|line| line.line).collect()
        };
        let by_frame: Vec<BTreeSet<u32>> = (0..self.frames.len() as u32).map(lines).collect();
        let mut sums = BTreeMap::<u32, Sums>::new();
        for (node, amount) in self.inclusive(by_stack).iter().enumerate() {
            let outer = |line: &&u32| !self.callers(node).any(|at| by_frame[self.frame(at)].contains(line));
            let is_counted = *amount != Amount::default();
            for line in by_frame[self.frame(node)].iter().filter(|_| is_counted).filter(outer) {
                sums.entry(*line).or_default().inclusive.add(amount);
            }
        }
        for (stack, amount) in self.stacks.iter().zip(by_stack) {
            let innermost = self.innermost(*stack).filter(|line| is_in_file[line.function.0 as usize]);
            if let Some(line) = innermost.and_then(|line| line.line) {
                sums.entry(line).or_default().own.add(amount);
            }
        }
        let hottest = self.hottest(of, &sums, unit);
        LineRows { hottest, ..rows(&sums) }
    }

    fn frame(&self, node: usize) -> usize {
        self.nodes[node].1 as usize
    }

    /// The callers of a node, the innermost first.
    fn callers(&self, node: usize) -> impl Iterator<Item = usize> {
        let caller = |at: &usize| (*at != 0).then(|| self.nodes[*at].0 as usize);
        std::iter::successors(caller(&node), caller)
    }

    /// What each node allocated with all that it calls.
    fn inclusive(&self, by_stack: &[Amount]) -> Vec<Amount> {
        let mut sums = vec![Amount::default(); self.nodes.len()];
        for (stack, amount) in self.stacks.iter().zip(by_stack) {
            sums[stack.0 as usize].add(amount);
        }
        for n in (1..sums.len()).rev() {
            let sum = sums[n];
            sums[self.nodes[n].0 as usize].add(&sum);
        }
        sums
    }

    /// Where a stack called the allocator.
    fn innermost(&self, stack: NodeId) -> Option<Line> {
        let at = stack.0 as usize;
        let mut frames = std::iter::once(at).chain(self.callers(at)).map(|at| &self.frames[self.frame(at)]);
        frames.find_map(|lines| lines.first().copied())
    }

    /// The line of a function that has most; its first one where none has anything.
    fn hottest(&self, of: FunctionId, sums: &BTreeMap<u32, Sums>, unit: Unit) -> Option<u32> {
        let all = self.frames.iter().flatten().filter(|line| line.function == of);
        let amount = |line: &u32| sums.get(line).map_or(0, |sums| unit.of(sums.inclusive));
        all.filter_map(|line| line.line).max_by_key(|line| (amount(line), std::cmp::Reverse(*line)))
    }
}

fn rows(sums: &BTreeMap<u32, Sums>) -> LineRows {
    let mut rows = LineRows::default();
    for (line, Sums { own, inclusive }) in sums {
        rows.line.push(*line);
        rows.own_bytes.push(own.bytes);
        rows.own_blocks.push(own.blocks);
        rows.bytes.push(inclusive.bytes);
        rows.blocks.push(inclusive.blocks);
    }
    rows
}

#[cfg(test)]
mod tests {
    use heapscribe_analyze::answer::Node;

    use super::super::function::FunctionsBuild;
    use super::*;

    /// main:9 -> a:1 -> b:5 (inlined: the same frame as a) and recursion of a:1; c is in another file.
    #[test]
    fn a_stack_counts_for_a_line_once() {
        let mut build = FunctionsBuild::default();
        let mut function = |name: &str, file: &str| build.number(name.into(), Some(file.into()), None);
        let (main, a, b) = (function("main", "x.c"), function("a", "x.c"), function("b", "x.c"));
        let c = function("c", "y.c");
        let functions = build.finish();
        let line = |function, line| Line { function, line };
        let frames = vec![
            vec![],
            vec![line(main, Some(9))],
            vec![line(b, Some(5)), line(a, Some(1))],
            vec![line(a, Some(1))],
            vec![line(c, Some(5))],
            vec![line(a, None)],
        ];
        // 1 main, 2 main > a > b, 3 main > a > b > a, 4 main > c, 5 main > a without a line
        let mut tree = CallTree::default();
        for parent in [0, 1, 2, 1, 1] {
            tree.nodes.push(Node { parent: NodeId(parent), ..Node::default() });
        }
        let stacks = [1, 2, 3, 4, 5].map(NodeId);
        let sources = Sources::new(&tree, &[0, 1, 2, 3, 4, 5], frames, &stacks);
        let by_stack = [1, 10, 100, 1_000, 10_000].map(|bytes| Amount { blocks: 1, bytes });
        let rows = sources.lines(&functions, a, Unit::Bytes, &by_stack);
        assert_eq!(rows.line, [1, 5, 9]);
        assert_eq!(rows.bytes, [110, 110, 11_111]);
        assert_eq!(rows.own_bytes, [100, 10, 1]);
        assert_eq!((rows.own_blocks, rows.blocks, rows.hottest), (vec![1; 3], vec![2, 2, 5], Some(1)));
        let rows = sources.lines(&functions, c, Unit::Bytes, &by_stack);
        assert_eq!((rows.line, rows.bytes, rows.own_bytes), (vec![5], vec![1_000], vec![1_000]));
        assert!(sources.has_lines(a) && sources.has_lines(c));
    }
}
