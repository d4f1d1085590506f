//! Tables of the blocks that were live at a moment.

use heapscribe_wire::ids::{HeapAddress, RateId, StackId, ThreadId};

/// The purpose of a table of live blocks in its trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LiveRole {
    /// A snapshot of the process: the reason for the trace.
    #[default]
    Snapshot,
    /// The blocks that were live before the first event of the process in the trace; each was allocated by an
    /// evicted event.
    Before,
    /// The blocks that were live after the last event in the trace.
    After,
}

/// The head of a table of the blocks that were live in a process at a moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LiveTable {
    /// Number of the table among those of the process, from 0: its blocks name it.
    pub number: u32,
    /// Its purpose.
    pub role: LiveRole,
    /// When, CLOCK_MONOTONIC ns.
    pub mono_ns: u64,
    /// The same moment, ns since 1970.
    pub real_ns: u64,
    /// The same moment in ticks of the process.
    pub ticks: u64,
    /// Its name, from the program or the user; may be empty.
    pub name: String,
    /// Why it is not of one instant, in words; empty when it is.
    pub inexact: String,
    /// How many blocks there are.
    pub blocks: u64,
    /// Recorded blocks that had been allocated until then.
    pub allocated_blocks: u64,
    /// Their bytes.
    pub allocated_bytes: u64,
    /// Of these, blocks that had been freed.
    pub freed_blocks: u64,
    /// Their bytes.
    pub freed_bytes: u64,
}

/// A block that was live.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LiveBlock {
    /// Where it was; 0 when that is not known.
    pub address: HeapAddress,
    /// Its size.
    pub size_bytes: u64,
    /// The stack that allocated it.
    pub stack: StackId,
    /// The thread that allocated it.
    pub thread: ThreadId,
    /// When it was allocated.
    pub birth_ticks: u64,
    /// The rate at which blocks were sampled then.
    pub rate: RateId,
    /// Whether the program allocated it from a pool of its own.
    pub is_pool: bool,
}
