//! What was live at a moment.

use heapscribe_wire::ids::{HeapAddress, RateId, StackId, ThreadId};

/// What a table of live blocks is in its trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LiveRole {
    /// A look at the process, which is what the trace is there for.
    #[default]
    Snapshot,
    /// What was live before the first event of the process that is in the trace: each of these blocks
    /// came by an event that is not.
    Before,
    /// What was live after the last event that is in the trace.
    After,
}

/// What was live in a process at a moment, but for the blocks themselves.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LiveTable {
    /// Number of the table among those of the process, from 0: its blocks name it.
    pub number: u32,
    /// What it is there for.
    pub role: LiveRole,
    /// When, CLOCK_MONOTONIC ns.
    pub mono_ns: u64,
    /// The same moment, ns since 1970.
    pub real_ns: u64,
    /// The same moment in ticks of the process.
    pub ticks: u64,
    /// What the program or its user called it; empty when they did not.
    pub name: String,
    /// Why it is not of one instant, in words; empty when it is.
    pub inexact: String,
    /// How many blocks there are.
    pub blocks: u64,
    /// Recorded blocks that had been allocated until then.
    pub allocated_blocks: u64,
    /// Their bytes.
    pub allocated_bytes: u64,
    /// Of these, blocks that had been given back.
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
    /// Who asked for it.
    pub stack: StackId,
    /// Thread that asked for it.
    pub thread: ThreadId,
    /// When.
    pub birth_ticks: u64,
    /// The rate at which blocks were sampled then.
    pub rate: RateId,
    /// Whether the program itself handed it out, from a pool.
    pub is_pool: bool,
}
