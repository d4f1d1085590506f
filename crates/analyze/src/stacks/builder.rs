//! One call tree for all processes. Nodes of a process are addresses; address space layout is another
//! one each time, so a node is merged by the file its code lies in and the place in that file.

use std::collections::HashMap;

use heapscribe_wire::definitions;

use crate::answer::{CallTree, Frame, InterpretedFunction, Module, Node, NodeId};

/// Builds the merged tree.
#[derive(Debug, Default)]
pub(crate) struct TreeBuilder {
    tree: CallTree,
    /// What outermost frames are put under: the root, or the process whose stacks are being put in.
    root: NodeId,
    numbers: HashMap<(NodeId, Frame), NodeId>,
    /// Modules by build id or, without one, by path.
    modules: HashMap<(bool, Vec<u8>), u32>,
}

impl TreeBuilder {
    /// The number of a file.
    pub(super) fn module(&mut self, module: &definitions::Module<'_>) -> u32 {
        let has_id = !module.build_id.is_empty();
        let name = if has_id { module.build_id } else { module.name };
        let modules = &mut self.tree.modules;
        *self.modules.entry((has_id, name.to_vec())).or_insert_with(|| {
            modules.push(Module { path: module.name.to_vec(), build_id: module.build_id.to_vec() });
            modules.len() as u32 - 1
        })
    }

    /// The number of what stands for a function that an interpreter runs.
    pub(super) fn function(&mut self, function: &definitions::Function<'_>) -> u32 {
        let path = InterpretedFunction::path_of(function);
        self.module(&definitions::Module { name: &path, ..definitions::Module::default() })
    }

    /// Puts what follows under a process, or under the root itself.
    pub(crate) fn put_under(&mut self, process: Option<usize>) {
        let frame = process.map(Frame::of_process);
        self.root = frame.map_or(NodeId::ROOT, |frame| self.child(NodeId::ROOT, frame));
    }

    /// The node that outermost frames are put under; itself it is the unknown stack.
    pub(crate) fn root(&self) -> NodeId {
        self.root
    }

    /// The node of a frame that this one calls.
    pub(crate) fn child(&mut self, parent: NodeId, frame: Frame) -> NodeId {
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
            let module = module.map(|module| self.same_module(module));
            node = self.child(node, Frame { module, ..frame });
        }
        node
    }

    /// The same for all nodes of a tree, in their order.
    pub(crate) fn graft_all(&mut self, from: &CallTree) -> Vec<NodeId> {
        // Modules that no stack runs through stay out, as they do when stacks are put in one by one.
        let mut modules: Vec<Option<u32>> = vec![None; from.modules.len()];
        let mut nodes = vec![NodeId::ROOT];
        for Node { parent, frame } in from.nodes.iter().skip(1) {
            let module = frame.module.and_then(|module| {
                let known = modules.get_mut(module as usize)?;
                Some(*known.get_or_insert_with(|| self.same_module(&from.modules[module as usize])))
            });
            let parent = nodes.get(parent.0 as usize).copied().unwrap_or_default();
            nodes.push(self.child(parent, Frame { module, ..*frame }));
        }
        nodes
    }

    fn same_module(&mut self, Module { path, build_id }: &Module) -> u32 {
        self.module(&definitions::Module { name: path, build_id, ..definitions::Module::default() })
    }

    pub(crate) fn tree(&self) -> &CallTree {
        &self.tree
    }

    pub(crate) fn into_tree(self) -> CallTree {
        self.tree
    }
}
