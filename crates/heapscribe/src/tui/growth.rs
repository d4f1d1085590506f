//! How much stacks and threads have grown from one look to the next.
//!
//! A stack is known by the places of its frames. Its name is not enough: two calls of malloc in one function have the
//! same name, and subtracted from each other they showed a growth where nothing changed.

use std::collections::HashMap;

use heapscribe_analyze::answer::{CallTree, NodeId};
use heapscribe_analyze::gathered::Gathered;

use super::look::Look;

/// What a stack held at the look before.
#[derive(Clone, Copy, Debug)]
struct Held {
    bytes: u64,
    /// Whether it was among those that are shown one by one.
    is_shown: bool,
}

/// What has changed since the look before.
#[derive(Debug, Default)]
pub(crate) struct Growth {
    /// All stacks so far: the same stack is the same node in every look.
    known: Gathered,
    stacks_before: HashMap<NodeId, Held>,
    threads_before: HashMap<u32, u64>,
    /// Bytes by stack of the newest look, and by thread.
    stacks: HashMap<NodeId, i64>,
    threads: HashMap<u32, i64>,
    /// Shown stacks of which nothing is left, by their known nodes.
    freed: Vec<(NodeId, i64)>,
}

impl Growth {
    /// Takes the next look, of which the stacks in `shown` are shown.
    pub(crate) fn take(&mut self, look: &Look, shown: &[NodeId]) {
        let nodes = self.known.nodes(&look.live.tree);
        let known = |node: NodeId| nodes.get(node.0 as usize).copied().unwrap_or_default();
        let mut before = std::mem::take(&mut self.stacks_before);
        self.stacks.clear();
        for stack in &look.live.stacks {
            let then = before.remove(&known(stack.node)).map_or(0, |held| held.bytes);
            self.stacks.insert(stack.node, change(then, stack.live.bytes));
            self.stacks_before.insert(known(stack.node), Held { bytes: stack.live.bytes, is_shown: false });
        }
        for node in shown {
            if let Some(held) = self.stacks_before.get_mut(&known(*node)) {
                held.is_shown = true;
            }
        }
        let freed = before.into_iter().filter(|(_, held)| held.is_shown);
        self.freed = freed.map(|(node, held)| (node, change(held.bytes, 0))).collect();
        self.take_threads(look);
    }

    fn take_threads(&mut self, look: &Look) {
        let now: HashMap<u32, u64> =
            look.live.threads.iter().map(|thread| (thread.id, thread.live.bytes)).collect();
        let before = |id: &u32| self.threads_before.get(id).copied().unwrap_or(0);
        self.threads = now.iter().map(|(id, bytes)| (*id, change(before(id), *bytes))).collect();
        self.threads_before = now;
    }

    /// Bytes by which a stack of the newest look has grown.
    pub(crate) fn of_stack(&self, node: NodeId) -> i64 {
        self.stacks.get(&node).copied().unwrap_or(0)
    }

    /// Bytes by which what a thread allocated has grown.
    pub(crate) fn of_thread(&self, id: u32) -> i64 {
        self.threads.get(&id).copied().unwrap_or(0)
    }

    /// Shown stacks of which nothing is left, by their nodes in [`Growth::tree`], and what they lost.
    pub(crate) fn freed(&self) -> &[(NodeId, i64)] {
        &self.freed
    }

    /// The calls of all stacks so far.
    pub(crate) fn tree(&self) -> &CallTree {
        self.known.tree()
    }
}

fn change(before: u64, now: u64) -> i64 {
    now.wrapping_sub(before) as i64
}
