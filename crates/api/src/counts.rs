//! Totals, in the layout of `heapscribe.h`.

/// Totals of blocks of the heap since the recording began; blocks of pools are not among them.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Bytes of blocks that were allocated.
    pub allocated_bytes: u64,
    /// Bytes of blocks that were freed.
    pub freed_bytes: u64,
    /// Blocks that were allocated.
    pub allocated_blocks: u64,
    /// Blocks that were freed.
    pub freed_blocks: u64,
}
