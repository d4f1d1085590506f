//! Calls of the heap at a place that someone asks about, by what they were for and by stack.

use std::collections::BTreeMap;

use super::tree::NodeId;

/// Calls by what they were for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallCounts {
    /// Calls that allocated a block.
    pub allocations: u64,
    /// Calls that made one block of another.
    pub reallocs: u64,
    /// Calls that freed a block.
    pub frees: u64,
    /// Calls that returned NULL for want of memory.
    pub failed: u64,
}

impl CallCounts {
    /// All of them.
    pub fn all(&self) -> u64 {
        [self.allocations, self.reallocs, self.frees, self.failed].into_iter().fold(0, u64::saturating_add)
    }

    /// Adds others.
    pub fn add(&mut self, other: &CallCounts) {
        for (mine, theirs) in [
            (&mut self.allocations, other.allocations),
            (&mut self.reallocs, other.reallocs),
            (&mut self.frees, other.frees),
            (&mut self.failed, other.failed),
        ] {
            *mine = mine.saturating_add(theirs);
        }
    }
}

/// The calls of one stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackCalls {
    /// The stack that called; of frees, the one that had asked for the block.
    pub node: NodeId,
    /// How many.
    pub kinds: CallCounts,
    /// Bytes that they allocated.
    pub bytes: u64,
    /// When the first was, CLOCK_MONOTONIC ns.
    pub first_ns: u64,
    /// How long the slowest took, ns; none where the recording does not say.
    pub worst_ns: Option<u64>,
}

impl StackCalls {
    /// Adds others of the same stack.
    pub(crate) fn add(&mut self, other: &StackCalls) {
        self.kinds.add(&other.kinds);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.first_ns = self.first_ns.min(other.first_ns);
        self.worst_ns = self.worst_ns.max(other.worst_ns);
    }

    /// Sums those of one stack, which a process may have defined twice; the one with most calls comes first.
    pub(crate) fn by_node(stacks: impl Iterator<Item = StackCalls>) -> Vec<StackCalls> {
        let mut sums: BTreeMap<NodeId, StackCalls> = BTreeMap::new();
        for stack in stacks {
            sums.entry(stack.node).and_modify(|sum| sum.add(&stack)).or_insert(stack);
        }
        let mut stacks: Vec<_> = sums.into_values().collect();
        stacks.sort_by_key(|stack| (std::cmp::Reverse(stack.kinds.all()), stack.node));
        stacks
    }
}
