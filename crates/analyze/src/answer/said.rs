//! What programs said of themselves.

use super::{Amount, Holder, NodeId};
use crate::calls::{Kinds, StackCalls};

/// Marks of one name in one process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mark {
    /// Index into [`Answer::processes`].
    pub process: usize,
    /// What the program said.
    pub name: Vec<u8>,
    /// How often.
    pub count: u64,
    /// When first, ns.
    pub first_ns: u64,
    /// When last, ns.
    pub last_ns: u64,
    /// Heap of the process then first, bytes.
    pub heap_at_first_bytes: u64,
    /// Heap of the process then last, bytes.
    pub heap_at_last_bytes: u64,
}

/// Sections of one name, in all processes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Section {
    /// What the program said.
    pub name: Vec<u8>,
    /// How many began.
    pub count: u64,
    /// How many ended.
    pub ended: u64,
    /// How long those took together that ended, ns.
    pub total_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// What was allocated inside, in sections inside it too.
    pub allocated: Amount,
    /// By whom, in the order of the nodes.
    pub stacks: Vec<Holder>,
    /// Calls of the heap inside, whatever they were for.
    pub calls: Kinds,
    /// The same by stack, the one with most calls first; frees by who had asked for the block.
    pub calls_by_stack: Vec<StackCalls>,
}

/// Blocks of programs' own pools.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pools {
    /// Handed out.
    pub allocated: Amount,
    /// Given back.
    pub freed: Amount,
    /// Never given back.
    pub leaked: Amount,
    /// Most bytes at a time in one process.
    pub peak_bytes: u64,
    /// When, ns.
    pub peak_ns: u64,
    /// Given back without having been handed out.
    pub unknown: u64,
    /// By who asked for them, in the order of the nodes.
    pub stacks: Vec<PoolStack>,
}

/// Blocks of pools that one stack asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PoolStack {
    /// The stack.
    pub node: NodeId,
    /// Handed out.
    pub allocated: Amount,
    /// Never given back.
    pub leaked: Amount,
}
