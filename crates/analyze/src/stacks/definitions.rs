//! The stacks, threads, names and rates of one process, as it defined them, and the way from its stacks to
//! the nodes of the one tree.

use std::collections::{BTreeMap, HashMap};

use heapscribe_wire::definitions::{Definition, Interpreter};
use heapscribe_wire::ids::{FunctionId, StackId};
use heapscribe_wire::language::Language;

use super::builder::TreeBuilder;
use super::folding::Folding;
use super::mapped::Mapped;
use super::rates::RateMeans;
use crate::answer::{Frame, NodeId};

/// A node of a stack.
#[derive(Clone, Copy, Debug, Default)]
struct Defined {
    id: StackId,
    parent: StackId,
    frame: Frame,
    /// Whether an interpreter runs it.
    is_interpreted: bool,
    /// Whether that holds for it or any frame further out.
    is_within: bool,
}

/// The stacks and threads of one process, as it defined them.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    /// By number; numbers leap where definitions are missing.
    nodes: Vec<Defined>,
    folding: Folding,
    /// Threads: number, kernel's number, name.
    pub(crate) threads: Vec<(u32, u32, Vec<u8>)>,
    /// Names of marks and sections.
    pub(crate) names: BTreeMap<u32, Vec<u8>>,
    /// Sampling rates.
    pub(crate) means: RateMeans,
    /// Interpreters, by what they run.
    pub(crate) interpreters: BTreeMap<Language, Interpreter>,
    mapped: Mapped,
    /// Modules of the tree that stand for functions that an interpreter runs.
    functions: HashMap<FunctionId, u32>,
    /// Machine code that was made of them, by its begin and the first node that it names: its end, module and line.
    code: BTreeMap<(u64, StackId), (u64, u32, u32)>,
}

impl Definitions {
    /// None yet. Frames of an interpreter's own code are left out of stacks with frames of the code that it runs, or kept.
    pub(crate) fn new(keeps_native: bool) -> Definitions {
        Definitions { folding: Folding::new(keeps_native), ..Definitions::default() }
    }

    /// Takes the next definition; modules become modules of the tree.
    pub(crate) fn take(&mut self, id: StackId, definition: &Definition<'_>, tree: &mut TreeBuilder) {
        match definition {
            Definition::Node(node) => {
                let frame = self.mapped.frame(node);
                self.put(Defined { id, parent: node.parent, frame, ..Defined::default() });
            }
            Definition::Cut { reason, parent } => {
                let frame = Frame { cut: Some(*reason), ..Frame::default() };
                self.put(Defined { id, parent: *parent, frame, ..Defined::default() });
            }
            Definition::Thread { id, tid, name, .. } => self.threads.push((id.0, *tid, name.to_vec())),
            Definition::Module(module) => {
                let number = tree.module(module);
                self.folding.module(number, module.name);
                self.mapped.map(module, number);
            }
            Definition::Unmapped => self.mapped = Mapped::default(),
            Definition::Name { id, name } => {
                self.names.insert(id.0, name.to_vec());
            }
            Definition::Rate { .. } => self.means.note(definition),
            Definition::Function(function) => {
                self.functions.insert(function.id, tree.function(function));
            }
            Definition::Interpreter(interpreter) => {
                self.interpreters.insert(interpreter.language, *interpreter);
            }
            Definition::Code(code) => {
                if let Some(module) = self.functions.get(&code.function) {
                    let key = (code.start, code.first_node);
                    self.code.insert(key, (code.end, *module, code.line));
                }
            }
            Definition::Interpreted(node) => {
                let module = self.functions.get(&node.function).copied();
                let frame = Frame { module, address: node.line.into(), ..Frame::default() };
                self.put(Defined { id, parent: node.parent, frame, is_interpreted: true, is_within: true });
            }
        }
    }

    fn put(&mut self, node: Defined) {
        if node.parent >= node.id || self.nodes.last().is_some_and(|last| last.id >= node.id) {
            return;
        }
        let caller = self.get(node.parent).copied();
        if let Some(caller) = caller.filter(|caller| node.is_interpreted && !caller.is_interpreted) {
            self.folding.interpreter(&caller.frame);
        }
        let is_within = node.is_within || caller.is_some_and(|caller| caller.is_within);
        self.nodes.push(Defined { is_within, ..node });
    }

    fn get(&self, id: StackId) -> Option<&Defined> {
        self.nodes.get(self.index(id)?)
    }

    /// Mostly no number is missing, so that it says where the node is.
    fn index(&self, id: StackId) -> Option<usize> {
        let at = id.0.checked_sub(self.nodes.first()?.id.0)? as usize;
        match self.nodes.get(at) {
            Some(node) if node.id == id => Some(at),
            _ => self.nodes.binary_search_by_key(&id, |node| node.id).ok(),
        }
    }

    /// The frame of a function for one whose call lies in code that was made of it, and in no module. What a stack runs
    /// through may be defined before what names it.
    fn named(&self, Defined { id, frame, .. }: Defined) -> Frame {
        if frame.module.is_some() || frame.cut.is_some() || self.code.is_empty() {
            return frame;
        }
        let call = frame.address.wrapping_sub(u64::from(frame.is_return_address));
        let newest = self.code.range(..=(call, StackId(u32::MAX))).next_back();
        let of_then = newest
            .and_then(|((start, _), _)| self.code.range((*start, StackId(0))..=(*start, id)).next_back());
        match of_then.filter(|(_, (end, ..))| call < *end) {
            Some((_, &(_, module, line))) => {
                Frame { module: Some(module), address: line.into(), is_return_address: false, ..frame }
            }
            None => frame,
        }
    }

    /// The tree's nodes of a process's stacks, which are in ascending order.
    pub(crate) fn nodes(&self, tree: &mut TreeBuilder, stacks: impl Iterator<Item = StackId>) -> Vec<NodeId> {
        let (mut known, mut path) = (Known::new(self.nodes.len()), Vec::new());
        stacks.map(|stack| self.node(tree, stack, &mut known, &mut path)).collect()
    }

    /// Goes out to the first frame that is known in the tree, and back in. What is outside of an interpreter's frames is
    /// left out of stacks that have some, and so two things.
    fn node(
        &self,
        tree: &mut TreeBuilder,
        stack: StackId,
        known: &mut Known,
        path: &mut Vec<usize>,
    ) -> NodeId {
        let mut node = tree.root();
        let folds = self.get(stack).is_some_and(|leaf| leaf.is_within);
        let mut next = self.index(stack);
        while let Some(at) = next {
            if let Some(found) = known.get(at, folds) {
                node = found;
                break;
            }
            path.push(at);
            next = self.nodes.get(at).and_then(|defined| self.index(defined.parent));
        }
        while let Some(at) = path.pop() {
            let Some(&defined) = self.nodes.get(at) else { continue };
            if !folds || !self.folding.leaves_out(&defined.frame, defined.is_within) {
                node = tree.child(node, self.named(defined));
            }
            known.set(at, folds, node);
        }
        node
    }
}

/// The tree's nodes of those that are defined, with what folds away and without it; 0 where not known, else one more.
struct Known([Vec<u32>; 2]);

impl Known {
    /// Pages of zeros, which take no memory until they are written.
    fn new(nodes: usize) -> Known {
        Known([vec![0; nodes], vec![0; nodes]])
    }

    fn get(&self, at: usize, folds: bool) -> Option<NodeId> {
        let known = self.0[usize::from(folds)].get(at)?;
        known.checked_sub(1).map(NodeId)
    }

    fn set(&mut self, at: usize, folds: bool, node: NodeId) {
        if let Some(known) = self.0[usize::from(folds)].get_mut(at) {
            *known = node.0.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use heapscribe_wire::definitions::{Code, Function, Node};
    use heapscribe_wire::ids::CodeAddress;

    use super::*;

    /// Code at addresses, from a node on, of functions by number; the functions of nodes that are given by number and
    /// address of their call, 0 for none.
    fn check(code: &[(std::ops::Range<u64>, u32, u32)], nodes: &[(u32, u64)], expected: &[u32]) {
        let (mut definitions, mut tree) = (Definitions::default(), TreeBuilder::default());
        for (id, address) in nodes {
            let (parent, pc) = (StackId::UNKNOWN, CodeAddress(address + 1));
            let node = Definition::Node(Node { parent, pc, guesses: false, exact: false });
            definitions.take(StackId(*id), &node, &mut tree);
        }
        for (at, first, function) in code {
            let (id, language) = (FunctionId(*function), Language::JAVASCRIPT);
            let name = format!("f{function}");
            let (name, file) = (name.as_bytes(), &b"/a.js"[..]);
            let function = Definition::Function(Function { id, language, first_line: 0, name, file });
            definitions.take(StackId::UNKNOWN, &function, &mut tree);
            let (start, end, first_node) = (at.start, at.end, StackId(*first));
            let code = Definition::Code(Code { start, end, function: id, line: 0, first_node });
            definitions.take(StackId::UNKNOWN, &code, &mut tree);
        }
        let stacks = nodes.iter().map(|(id, _)| StackId(*id));
        let found = definitions.nodes(&mut tree, stacks);
        let tree = tree.into_tree();
        let function = |node: &NodeId| {
            let module = tree.frames(*node).next().and_then(|(_, frame)| frame.module);
            let path = module.map(|module| String::from_utf8_lossy(&tree.modules[module as usize].path));
            path.map_or(0, |path| (1..9).find(|n| path.contains(&format!("f{n}"))).unwrap_or(0))
        };
        assert_eq!(found.iter().map(function).collect::<Vec<_>>(), expected, "{code:?}");
    }

    #[test]
    fn a_node_is_of_the_code_that_was_at_its_address_then() {
        let nodes = [(1, 100), (4, 100), (5, 100), (9, 100), (10, 120), (11, 99)];
        check(&[(100..101, 0, 1), (100..101, 5, 2), (100..101, 9, 3)], &nodes, &[1, 1, 2, 3, 0, 0]);
        check(&[(100..150, 5, 2)], &nodes, &[0, 0, 2, 2, 2, 0]);
        check(&[(90..150, 0, 1), (100..110, 5, 2)], &nodes, &[0, 0, 2, 2, 0, 1]);
        check(&[], &nodes, &[0; 6]);
    }
}
