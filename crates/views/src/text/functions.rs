//! Stacks as functions: each line of each frame gets the number of its function, once, however many stacks go through
//! it. Of a recursion that is 3,000 calls deep each call may be a stack.

use std::collections::HashMap;

use heapscribe_analyze::answer::{Frame, NodeId};
use heapscribe_symbols::{NamedFrame, NamedStacks};

/// A line of a stack: a node, and which of the functions that are inlined into each other there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) struct At {
    pub(super) node: NodeId,
    pub(super) line: usize,
}

impl At {
    /// Beyond the outermost frame.
    pub(super) const END: At = At { node: NodeId::ROOT, line: 0 };
}

/// The functions of lines, and who called them.
pub(super) struct Functions<'a> {
    names: &'a NamedStacks<'a>,
    of_frames: HashMap<Frame, Vec<u32>>,
    numbers: HashMap<String, u32>,
    /// The caller of the outermost call of a function that calls itself.
    outside: HashMap<At, At>,
}

impl<'a> Functions<'a> {
    pub(super) fn new(names: &'a NamedStacks<'a>) -> Self {
        let (of_frames, numbers) = (HashMap::new(), HashMap::new());
        Functions { names, of_frames, numbers, outside: HashMap::new() }
    }

    /// The number of a line's function; none beyond the outermost frame.
    pub(super) fn at(&mut self, at: At) -> Option<u32> {
        self.of_node(at.node).get(at.line).copied()
    }

    /// The place in code that the line is of: of many nodes it is the same.
    pub(super) fn place(&self, at: At) -> (Option<Frame>, usize) {
        (self.names.tree().frames(at.node).next().map(|(_, frame)| *frame), at.line)
    }

    /// What the line looks like.
    pub(super) fn frame(&self, at: At) -> NamedFrame {
        let frame = self.names.tree().frames(at.node).next();
        let lines = frame.map(|(_, frame)| self.names.lines_of(frame)).unwrap_or_default();
        lines.into_iter().nth(at.line).unwrap_or_default()
    }

    /// The next line outwards.
    pub(super) fn caller(&mut self, at: At) -> At {
        if at.line + 1 < self.of_node(at.node).len() {
            return At { line: at.line + 1, ..at };
        }
        At { node: self.parent(at.node), line: 0 }
    }

    fn parent(&self, node: NodeId) -> NodeId {
        self.names.tree().nodes.get(node.0 as usize).map_or(NodeId::ROOT, |node| node.parent)
    }

    /// Whether the function called itself. One that is inlined into the rest of itself did not.
    pub(super) fn is_recursive(&mut self, at: At) -> bool {
        let outside = self.outside(at).node;
        outside != at.node && outside != self.parent(at.node)
    }

    /// The next line outwards that is another function's.
    pub(super) fn outside(&mut self, at: At) -> At {
        let function = self.at(at);
        let mut inside = vec![at];
        let outside = loop {
            let innermost = *inside.last().unwrap_or(&at);
            if let Some(known) = self.outside.get(&innermost) {
                break *known;
            }
            let caller = self.caller(innermost);
            if caller == At::END || self.at(caller) != function {
                break caller;
            }
            inside.push(caller);
        };
        self.outside.extend(inside.into_iter().map(|at| (at, outside)));
        outside
    }

    fn of_node(&mut self, node: NodeId) -> &[u32] {
        let Functions { names, of_frames, numbers, .. } = self;
        let Some((_, frame)) = names.tree().frames(node).next() else { return &[] };
        of_frames.entry(*frame).or_insert_with(|| {
            let mut number = |line: &NamedFrame| {
                let next = numbers.len() as u32;
                *numbers.entry(line.name()).or_insert(next)
            };
            names.lines_of(frame).iter().map(&mut number).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_symbols::Resolver;

    use super::*;
    use crate::own::tests::tree;

    #[test]
    fn a_deep_recursion_is_left_in_one_step() {
        const DEEP: usize = 2000;
        let stack: Vec<&str> = std::iter::repeat_n("down", DEEP).chain(["main", "_start"]).collect();
        let (tree, stacks) = tree(&[&stack]);
        let names = NamedStacks::look_up(&tree, stacks.iter().copied(), &Resolver::new("/nowhere"));
        let mut functions = Functions::new(&names);
        let calls: Vec<At> = tree.frames(stacks[0]).map(|(node, _)| At { node, line: 0 }).collect();
        let main = calls[DEEP];
        assert!(calls[..DEEP].iter().all(|call| functions.outside(*call) == main));
        assert_eq!(functions.outside(calls[DEEP + 1]), At::END);
        assert_eq!((functions.at(At::END), functions.frame(main).name()), (None, "main".to_owned()));
    }
}
