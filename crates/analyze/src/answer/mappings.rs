//! What a program mapped itself, past the heap, where that was recorded (`record --track-mmap`). These bytes are in no
//! figure of the heap.

use super::amounts::Amount;
use super::tree::NodeId;

/// The private anonymous memory that a process mapped itself. Bytes are addresses, in memory or not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mappings {
    /// Mapped and accessible at the end.
    pub live_bytes: u64,
    /// Of that at the program's break (`brk`, `sbrk`).
    pub break_bytes: u64,
    /// Mapped without any right at the end: address space, not memory.
    pub reserved_bytes: u64,
    /// The most that was accessible at a time.
    pub peak_bytes: u64,
    /// When that was first so.
    pub peak_ns: u64,
    /// Calls that mapped, and their bytes; those that moved or resized, too.
    pub mapped: Amount,
    /// Who mapped, those with most at the peak first.
    pub stacks: Vec<MappedStack>,
    /// Whether calls may be missing, so that figures may be wrong either way.
    pub is_incomplete: bool,
    /// Calls, where they were too many to be followed; then no other figure is given.
    pub unfollowed_calls: u64,
}

/// A stack that mapped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MappedStack {
    /// The stack.
    pub node: NodeId,
    /// What it mapped.
    pub mapped: Amount,
    /// Accessible at the peak of the process's mappings.
    pub at_peak_bytes: u64,
    /// Accessible at the end.
    pub live_bytes: u64,
}
