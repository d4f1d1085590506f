//! The path that most of an entry comes by, a function at a time. Each node is named once, however many stacks go
//! through it: of a recursion that is 3,000 calls deep each call may be a stack.

use std::collections::{BTreeMap, HashMap};

use heapscribe_analyze::answer::NodeId;
use heapscribe_symbols::{NamedFrame, NamedStacks};

/// A step of the path.
pub(super) struct Step {
    /// The largest of the nodes of the function.
    pub(super) node: NodeId,
    /// What comes through all of them.
    pub(super) figure: u64,
    /// Who called them.
    pub(super) callers: BTreeMap<NodeId, u64>,
    pub(super) is_recursive: bool,
}

/// The functions of nodes and who called these from outside.
pub(super) struct Callers<'a> {
    names: &'a NamedStacks<'a>,
    functions: HashMap<NodeId, u32>,
    numbers: HashMap<String, u32>,
    /// The caller of the outermost call of a function that calls itself.
    outside: HashMap<NodeId, NodeId>,
}

impl<'a> Callers<'a> {
    pub(super) fn new(names: &'a NamedStacks<'a>) -> Self {
        let (functions, numbers) = (HashMap::new(), HashMap::new());
        Callers { names, functions, numbers, outside: HashMap::new() }
    }

    /// The function that most of some nodes are of. A function that calls itself is left at its outermost call.
    pub(super) fn step(&mut self, at: BTreeMap<NodeId, u64>) -> Option<Step> {
        let mut functions: BTreeMap<u32, Vec<(u64, NodeId)>> = BTreeMap::new();
        for (node, figure) in at.into_iter().filter(|(node, _)| *node != NodeId::ROOT) {
            functions.entry(self.function_of(node)).or_default().push((figure, node));
        }
        let sum = |nodes: &[(u64, NodeId)]| nodes.iter().fold(0, |sum: u64, (n, _)| sum.saturating_add(*n));
        let nodes = functions.into_values().max_by_key(|nodes| sum(nodes))?;
        let (_, node) = *nodes.iter().max()?;
        let mut step = Step { node, figure: sum(&nodes), callers: BTreeMap::new(), is_recursive: false };
        for (figure, node) in &nodes {
            let caller = self.outside_of(*node);
            step.is_recursive |= caller != self.caller_of(*node);
            let of_caller: &mut u64 = step.callers.entry(caller).or_default();
            *of_caller = of_caller.saturating_add(*figure);
        }
        Some(step)
    }

    fn outside_of(&mut self, node: NodeId) -> NodeId {
        let function = self.function_of(node);
        let mut inside = vec![node];
        let outside = loop {
            let innermost = *inside.last().unwrap_or(&node);
            if let Some(known) = self.outside.get(&innermost) {
                break *known;
            }
            let caller = self.caller_of(innermost);
            if caller == NodeId::ROOT || self.function_of(caller) != function {
                break caller;
            }
            inside.push(caller);
        };
        self.outside.extend(inside.into_iter().map(|node| (node, outside)));
        outside
    }

    fn caller_of(&self, node: NodeId) -> NodeId {
        self.names.tree().nodes[node.0 as usize].parent
    }

    /// The number of a node's function, that of code which is not inlined.
    fn function_of(&mut self, node: NodeId) -> u32 {
        if let Some(known) = self.functions.get(&node) {
            return *known;
        }
        let frame = self.names.tree().frames(node).next();
        let lines = frame.map(|(_, frame)| self.names.lines_of(frame)).unwrap_or_default();
        let name = lines.last().map_or_else(String::new, NamedFrame::name);
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(name).or_insert(next);
        self.functions.insert(node, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_symbols::Resolver;

    use super::*;
    use crate::own::tests::tree;

    #[test]
    fn a_deep_recursion_is_one_step() {
        const DEEP: usize = 2000;
        let stack: Vec<&str> = std::iter::repeat_n("down", DEEP).chain(["main", "_start"]).collect();
        let (tree, stacks) = tree(&[&stack]);
        let names = NamedStacks::look_up(&tree, stacks.iter().copied(), &Resolver::new("/nowhere"));
        let mut callers = Callers::new(&names);
        let every_call = tree.frames(stacks[0]).take(DEEP).map(|(node, _)| (node, 1)).collect();
        let step = callers.step(every_call).unwrap();
        assert_eq!((step.figure, step.is_recursive, step.callers.len()), (DEEP as u64, true, 1));
        let step = callers.step(step.callers).unwrap();
        assert_eq!((step.figure, step.is_recursive, callers.functions.len()), (DEEP as u64, false, DEEP + 2));
    }
}
