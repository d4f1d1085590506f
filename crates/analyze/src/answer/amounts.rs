//! Blocks and their bytes: of a stack, at a moment, by size and by lifetime.

use super::tree::NodeId;

/// A number of blocks and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amount {
    /// Blocks.
    pub blocks: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Amount {
    /// Adds another.
    pub fn add(&mut self, other: &Amount) {
        self.blocks += other.blocks;
        self.bytes = self.bytes.wrapping_add(other.bytes);
    }

    /// Less another, but not below 0.
    pub(crate) fn minus(self, other: Amount) -> Amount {
        Amount {
            blocks: self.blocks.saturating_sub(other.blocks),
            bytes: self.bytes.saturating_sub(other.bytes),
        }
    }

    /// The larger number of blocks, and the larger one of bytes.
    pub(crate) fn max(self, other: Amount) -> Amount {
        Amount { blocks: self.blocks.max(other.blocks), bytes: self.bytes.max(other.bytes) }
    }
}

/// What one stack held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holder {
    /// The stack.
    pub node: NodeId,
    /// What it held.
    pub held: Amount,
}

/// The moment of most bytes; of several equal ones the first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Peak {
    /// Bytes live at that moment.
    pub bytes: u64,
    /// Blocks live at that moment.
    pub blocks: u64,
    /// When, ns.
    pub time_ns: u64,
    /// Who held them, in the order of the nodes; only those that held something.
    pub stacks: Vec<Holder>,
}

/// A peak before the window of a ring, by all events: who held it is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WholePeak {
    /// Bytes live at that moment.
    pub bytes: u64,
    /// When, ns.
    pub time_ns: u64,
}

/// Allocations of similar size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizeClass {
    /// Smallest size, bytes: a power of two, or 0.
    pub from_bytes: u64,
    /// Largest size, bytes.
    pub to_bytes: u64,
    /// Allocations.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Freed blocks that lived about as long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LifetimeClass {
    /// Shortest, ns: a power of two, or 0.
    pub from_ns: u64,
    /// Longest, ns.
    pub to_ns: u64,
    /// Blocks.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}
