//! Stacks of several answers in one tree, so that whoever looks up names does it once for all of them.

use super::builder::TreeBuilder;
use crate::answer::{CallTree, NodeId};

/// A tree of the stacks that were put into it.
#[derive(Debug, Default)]
pub struct Gathered {
    tree: TreeBuilder,
}

impl Gathered {
    /// Puts a stack of another tree in; the same stack is the same node, whichever tree it comes from.
    pub fn stack(&mut self, from: &CallTree, stack: NodeId) -> NodeId {
        self.tree.graft(from, stack)
    }

    /// Puts a whole tree in: the node here of each of its nodes, in their order.
    pub fn nodes(&mut self, from: &CallTree) -> Vec<NodeId> {
        self.tree.graft_all(from)
    }

    /// The tree.
    pub fn tree(&self) -> &CallTree {
        self.tree.tree()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Frame, Module, Node};

    /// A tree of one stack `main > f` in a file that other files stand before.
    fn tree(others: usize) -> CallTree {
        let module = |name: &str| Module { path: name.into(), build_id: Vec::new() };
        let mut modules: Vec<_> = (0..others).map(|n| module(&format!("/lib/{n}"))).collect();
        modules.push(module("/bin/app"));
        let frame = |address| Frame { module: Some(others as u32), address, ..Frame::default() };
        let node = |parent, address| Node { parent: NodeId(parent), frame: frame(address) };
        CallTree { nodes: vec![Node::default(), node(0, 0x10), node(1, 0x20)], modules }
    }

    #[test]
    fn the_same_stack_of_two_trees_is_one() {
        let mut gathered = Gathered::default();
        let first = gathered.stack(&tree(0), NodeId(2));
        assert_eq!(gathered.stack(&tree(3), NodeId(2)), first);
        assert_eq!(gathered.stack(&tree(3), NodeId::ROOT), NodeId::ROOT);
        let addresses: Vec<_> = gathered.tree().frames(first).map(|(_, frame)| frame.address).collect();
        assert_eq!(addresses, [0x20, 0x10]);
        assert_eq!((gathered.tree().nodes.len(), gathered.tree().modules.len()), (3, 1));
        let nodes = gathered.nodes(&tree(2));
        assert_eq!((nodes[0], nodes[2], nodes.len()), (NodeId::ROOT, first, 3));
        assert_eq!((gathered.tree().nodes.len(), gathered.tree().modules.len()), (3, 1));
    }
}
