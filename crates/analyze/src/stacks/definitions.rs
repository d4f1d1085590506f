//! The stacks, threads, names and rates of one process, as it defined them, and the way from its stacks to
//! the nodes of the one tree.

use std::collections::{BTreeMap, HashMap};

use heapscribe_wire::definitions::Definition;
use heapscribe_wire::ids::{FunctionId, StackId};

use super::builder::TreeBuilder;
use super::mapped::Mapped;
use super::rates::RateMeans;
use crate::answer::{Frame, NodeId};

/// The stacks and threads of one process, as it defined them.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    /// Number, parent and frame, by number; numbers leap where definitions are missing.
    nodes: Vec<(StackId, StackId, Frame)>,
    /// Threads: number, kernel's number, name.
    pub(crate) threads: Vec<(u32, u32, Vec<u8>)>,
    /// Names of marks and sections.
    pub(crate) names: BTreeMap<u32, Vec<u8>>,
    /// Sampling rates.
    pub(crate) means: RateMeans,
    mapped: Mapped,
    /// Modules of the tree that stand for functions that an interpreter runs.
    functions: HashMap<FunctionId, u32>,
}

impl Definitions {
    /// Takes the next definition; modules become modules of the tree.
    pub(crate) fn take(&mut self, id: StackId, definition: &Definition<'_>, tree: &mut TreeBuilder) {
        match definition {
            Definition::Node(node) => {
                let frame = self.mapped.frame(node);
                self.put(id, node.parent, frame);
            }
            Definition::Cut { reason, parent } => {
                self.put(id, *parent, Frame { cut: Some(*reason), ..Frame::default() });
            }
            Definition::Thread { id, tid, name, .. } => self.threads.push((id.0, *tid, name.to_vec())),
            Definition::Module(module) => self.mapped.map(module, tree.module(module)),
            Definition::Unmapped => self.mapped = Mapped::default(),
            Definition::Name { id, name } => {
                self.names.insert(id.0, name.to_vec());
            }
            Definition::Rate { .. } => self.means.note(definition),
            Definition::Function(function) => {
                self.functions.insert(function.id, tree.function(function));
            }
            Definition::Interpreted(node) => {
                let module = self.functions.get(&node.function).copied();
                self.put(id, node.parent, Frame { module, address: node.line.into(), ..Frame::default() });
            }
        }
    }

    fn put(&mut self, id: StackId, parent: StackId, frame: Frame) {
        if parent < id && self.nodes.last().is_none_or(|(last, ..)| *last < id) {
            self.nodes.push((id, parent, frame));
        }
    }

    fn get(&self, id: StackId) -> Option<(StackId, Frame)> {
        let at = self.nodes.binary_search_by_key(&id, |(id, ..)| *id).ok()?;
        Some((self.nodes[at].1, self.nodes[at].2))
    }

    /// The tree's nodes of a process's stacks, which are in ascending order.
    pub(crate) fn nodes(&self, tree: &mut TreeBuilder, stacks: impl Iterator<Item = StackId>) -> Vec<NodeId> {
        let (mut known, mut path) = (HashMap::new(), Vec::new());
        stacks.map(|stack| self.node(tree, stack, &mut known, &mut path)).collect()
    }

    /// Goes out to the first frame that is known in the tree, and back in.
    fn node(
        &self,
        tree: &mut TreeBuilder,
        stack: StackId,
        known: &mut HashMap<StackId, NodeId>,
        path: &mut Vec<(StackId, Frame)>,
    ) -> NodeId {
        let (mut at, mut node) = (stack, tree.root());
        while at != StackId::UNKNOWN {
            if let Some(&found) = known.get(&at) {
                node = found;
                break;
            }
            let Some((parent, frame)) = self.get(at) else { break };
            path.push((at, frame));
            at = parent;
        }
        while let Some((stack, frame)) = path.pop() {
            node = tree.child(node, frame);
            known.insert(stack, node);
        }
        node
    }
}
