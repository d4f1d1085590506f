//! One call tree for all processes. Nodes of a process are addresses; address space layout is another
//! one each time, so a node is merged by the file its code lies in and the place in that file.
//!
//! Which file an address lies in depends on when the node was defined: the definitions are read in their
//! order, modules count from where they are named until `unmapped`, and a later one hides those below
//! it. Three plug-ins loaded one after the other at one address keep their own stacks.

use std::collections::{BTreeMap, HashMap};

use heapscribe_wire::defs::{self, Definition};
use heapscribe_wire::ids::StackId;

use crate::answer::{CallTree, Frame, Module, Node, NodeId};
use crate::rates::{self, Means};

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
    pub(crate) means: Means,
    mapped: Mapped,
}

impl Definitions {
    /// Takes the next definition; modules become modules of the tree.
    pub(crate) fn take(&mut self, id: StackId, definition: &Definition<'_>, tree: &mut Merger) {
        match definition {
            Definition::Node(node) => {
                let frame = self.mapped.frame(node);
                self.put(id, node.parent, frame);
            }
            Definition::Cut { reason } => {
                self.put(id, StackId::UNKNOWN, Frame { cut: Some(*reason), ..Frame::default() });
            }
            Definition::Thread { id, tid, name, .. } => self.threads.push((id.0, *tid, name.to_vec())),
            Definition::Module(module) => self.mapped.map(module, tree.module(module)),
            Definition::Unmapped => self.mapped = Mapped::default(),
            Definition::Name { id, name } => {
                self.names.insert(id.0, name.to_vec());
            }
            Definition::Rate { .. } => rates::note(&mut self.means, definition),
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
}

/// A mapped range and what to make of addresses in it.
#[derive(Clone, Copy, Debug)]
struct Range {
    end: u64,
    bias: u64,
    module: u32,
}

/// What is mapped where: ranges by their begin, without overlaps.
#[derive(Debug, Default)]
struct Mapped {
    ranges: BTreeMap<u64, Range>,
}

impl Mapped {
    /// Maps a module over whatever was there.
    fn map(&mut self, module: &defs::Module<'_>, number: u32) {
        let (start, end) = (module.start, module.end);
        if start >= end {
            return;
        }
        if let Some((&below, range)) = self.ranges.range_mut(..start).next_back() {
            let hidden = *range;
            if hidden.end > start {
                range.end = start;
                if hidden.end > end {
                    self.ranges.insert(end, hidden);
                }
            }
            debug_assert!(below < start);
        }
        let covered: Vec<u64> = self.ranges.range(start..end).map(|(&at, _)| at).collect();
        for at in covered {
            if let Some(range) = self.ranges.remove(&at)
                && range.end > end
            {
                self.ranges.insert(end, range);
            }
        }
        self.ranges.insert(start, Range { end, bias: module.bias, module: number });
    }

    /// For a pc that a call returns to, the byte before it is looked up: a call of a function that never
    /// returns may be the last instruction of its file's code.
    fn frame(&self, node: &defs::Node) -> Frame {
        let pc = node.pc.0;
        let found = self.find(pc.wrapping_sub(u64::from(!node.exact)));
        Frame {
            module: found.map(|range| range.module),
            address: pc.wrapping_sub(found.map_or(0, |range| range.bias)),
            is_return_address: !node.exact,
            guesses: node.guesses,
            cut: None,
        }
    }

    fn find(&self, address: u64) -> Option<&Range> {
        self.ranges.range(..=address).next_back().map(|(_, range)| range).filter(|r| address < r.end)
    }
}

/// Builds the merged tree.
#[derive(Debug, Default)]
pub(crate) struct Merger {
    tree: CallTree,
    numbers: HashMap<(NodeId, Frame), NodeId>,
    /// Modules by build id or, without one, by path.
    modules: HashMap<(bool, Vec<u8>), u32>,
}

impl Merger {
    fn module(&mut self, module: &defs::Module<'_>) -> u32 {
        let has_id = !module.build_id.is_empty();
        let name = if has_id { module.build_id } else { module.name };
        let modules = &mut self.tree.modules;
        *self.modules.entry((has_id, name.to_vec())).or_insert_with(|| {
            modules.push(Module { path: module.name.to_vec(), build_id: module.build_id.to_vec() });
            modules.len() as u32 - 1
        })
    }

    /// The tree's nodes of a process's stacks, which are in ascending order.
    pub(crate) fn merge(
        &mut self,
        definitions: &Definitions,
        stacks: impl Iterator<Item = StackId>,
    ) -> Vec<NodeId> {
        let mut known = HashMap::new();
        let mut path = Vec::new();
        stacks.map(|stack| self.node(definitions, stack, &mut known, &mut path)).collect()
    }

    /// Goes out to the first frame that is known in the tree, and back in.
    fn node(
        &mut self,
        definitions: &Definitions,
        stack: StackId,
        known: &mut HashMap<StackId, NodeId>,
        path: &mut Vec<(StackId, Frame)>,
    ) -> NodeId {
        let (mut at, mut node) = (stack, NodeId::ROOT);
        while at != StackId::UNKNOWN {
            if let Some(&found) = known.get(&at) {
                node = found;
                break;
            }
            let Some((parent, frame)) = definitions.get(at) else { break };
            path.push((at, frame));
            at = parent;
        }
        while let Some((stack, frame)) = path.pop() {
            node = self.child(node, frame);
            known.insert(stack, node);
        }
        node
    }

    fn child(&mut self, parent: NodeId, frame: Frame) -> NodeId {
        let nodes = &mut self.tree.nodes;
        *self.numbers.entry((parent, frame)).or_insert_with(|| {
            nodes.push(Node { parent, frame });
            NodeId(nodes.len() as u32 - 1)
        })
    }

    /// The node of the same stack as one of another tree.
    pub(crate) fn graft(&mut self, from: &CallTree, stack: NodeId) -> NodeId {
        let mut path: Vec<Frame> = from.frames(stack).map(|(_, frame)| *frame).collect();
        let mut node = NodeId::ROOT;
        while let Some(frame) = path.pop() {
            let module = frame.module.and_then(|module| from.modules.get(module as usize));
            let module = module.map(|Module { path, build_id }| {
                self.module(&defs::Module { name: path, build_id, ..defs::Module::default() })
            });
            node = self.child(node, Frame { module, ..frame });
        }
        node
    }

    pub(crate) fn tree(&self) -> &CallTree {
        &self.tree
    }

    pub(crate) fn into_tree(self) -> CallTree {
        self.tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapscribe_wire::ids::CodeAddress;

    fn map(mapped: &mut Mapped, start: u64, end: u64, number: u32) {
        mapped.map(&defs::Module { start, end, bias: start, ..defs::Module::default() }, number);
    }

    fn check(mapped: &Mapped, pc: u64, module: Option<u32>) {
        let node = defs::Node { parent: StackId(0), pc: CodeAddress(pc), guesses: false, exact: true };
        assert_eq!(mapped.frame(&node).module, module, "pc {pc}");
    }

    #[test]
    fn a_later_module_hides_what_it_covers() {
        let mut mapped = Mapped::default();
        map(&mut mapped, 100, 500, 1);
        map(&mut mapped, 200, 300, 2);
        for (pc, module) in
            [(100, Some(1)), (199, Some(1)), (250, Some(2)), (299, Some(2)), (300, Some(1)), (400, Some(1))]
        {
            check(&mapped, pc, module);
        }
        map(&mut mapped, 150, 350, 3);
        for (pc, module) in [(140, Some(1)), (160, Some(3)), (250, Some(3)), (360, Some(1)), (500, None)] {
            check(&mapped, pc, module);
        }
        map(&mut mapped, 0, 1000, 4);
        check(&mapped, 360, Some(4));
        assert_eq!(mapped.ranges.len(), 1);
    }

    #[test]
    fn a_return_to_the_end_of_a_file_belongs_to_it() {
        let mut mapped = Mapped::default();
        map(&mut mapped, 100, 200, 1);
        let node = |pc| defs::Node { parent: StackId(0), pc: CodeAddress(pc), guesses: false, exact: false };
        assert_eq!(mapped.frame(&node(100)).module, None);
        assert_eq!(mapped.frame(&node(200)).module, Some(1));
    }
}
