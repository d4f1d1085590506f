//! What identifies a block in a trace that has no addresses: the thread that allocated it, and when.

use heapscribe_wire::record::Block;

/// The allocation of a block; no two of a process have the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct BlockIdentity {
    /// Number of the thread that allocated it.
    pub(crate) thread: u32,
    /// Ticks of that event.
    pub(crate) ticks: u64,
}

impl BlockIdentity {
    /// The birth of a block that this thread freed or resized at this tick.
    pub(crate) fn of(block: &Block, thread: u32, ticks: u64) -> BlockIdentity {
        let birth_thread = block.birth_thread.map_or(thread, |thread| thread.0);
        BlockIdentity { thread: birth_thread, ticks: ticks.wrapping_sub(block.age_ticks) }
    }
}
