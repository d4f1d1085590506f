//! Patterns in the calls of a stack that cost more than their bytes, as [`crate::findings`] reads them.

use super::amounts::Amount;
use super::tree::NodeId;

/// Steps that the second half of a process's life is cut into.
pub const GROWTH_STEPS: usize = 8;

/// Patterns in the calls of one stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Patterns {
    /// What glibc's heap would take for all blocks that were allocated, bytes.
    pub heap_bytes: u64,
    /// Blocks whose alignment is at least twice their size, and by how much it exceeds that.
    pub over_aligned: Amount,
    /// Reallocs that made a block a little larger, and what these blocks were before.
    pub small_steps: Amount,
    /// Large blocks that lived for long, see [`crate::findings::long_lived`]; of several processes, those of all.
    pub long_lived: Amount,
    /// Of these, what was freed.
    pub long_lived_freed: Amount,
    /// Calls that allocated or freed its blocks and of which it is known how long they took.
    pub timed_calls: u64,
    /// All of these together, ns.
    pub took_ns: u64,
}

/// What a stack of a process held in the second half of the process's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Growth {
    /// The stack.
    pub node: NodeId,
    /// Bytes at half of the life, and at the end of each step after it.
    pub bytes: [i64; GROWTH_STEPS + 1],
}

/// A moment shortly before a peak after which the heap rose steeply.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ascent {
    /// When, ns.
    pub time_ns: u64,
    /// What was live then, bytes.
    pub bytes: u64,
}

/// Resident memory that belongs to no file, and the heap at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Resident {
    /// When, ns.
    pub time_ns: u64,
    /// Resident memory without files, bytes.
    pub anonymous_bytes: u64,
    /// The most that was live in the heap about then, bytes.
    pub heap_bytes: u64,
}

impl Resident {
    /// How much of it is not the heap.
    pub fn excess_bytes(&self) -> u64 {
        self.anonymous_bytes.saturating_sub(self.heap_bytes)
    }
}
