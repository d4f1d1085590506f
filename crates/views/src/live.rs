//! Which stacks of a snapshot are shown, in text as in JSON.

use std::cmp::Reverse;

use heapscribe_analyze::answer::NodeId;
use heapscribe_analyze::snapshot::{LiveStack, Snapshot};

/// The stacks that hold most.
pub struct Largest<'a> {
    pub(crate) heap: Vec<&'a LiveStack>,
    pub(crate) pools: Vec<&'a LiveStack>,
}

impl<'a> Largest<'a> {
    /// So many of each kind.
    pub fn of(snapshot: &'a Snapshot, top: usize) -> Largest<'a> {
        let [heap, pools] = [&snapshot.stacks, &snapshot.pool_stacks].map(|stacks| largest(stacks, top));
        Largest { heap, pools }
    }

    /// The nodes, whose names have to be looked up.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.heap.iter().chain(&self.pools).map(|stack| stack.node)
    }
}

fn largest(stacks: &[LiveStack], top: usize) -> Vec<&LiveStack> {
    let mut stacks: Vec<_> = stacks.iter().collect();
    stacks.sort_by_key(|stack| (Reverse(stack.live.bytes), stack.node));
    stacks.truncate(top);
    stacks
}
