//! Calls, blocks and losses, counted over a thread, a process or everything.

use heapscribe_wire::head::DROP_COUNTERS;

/// Calls as the program made them, failed ones too.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Calls {
    /// `malloc`.
    pub malloc: u64,
    /// `calloc`.
    pub calloc: u64,
    /// `realloc` and `reallocarray`, also those that freed.
    pub realloc: u64,
    /// `posix_memalign`, `aligned_alloc`, `memalign`, `valloc`, `pvalloc`.
    pub aligned: u64,
    /// `free`, `cfree`, `free_sized`, `free_aligned_sized`; `free(NULL)` is never recorded.
    pub free: u64,
}

impl Calls {
    /// All calls of the heap.
    pub fn all(&self) -> u64 {
        self.malloc + self.calloc + self.realloc + self.aligned + self.free
    }
}

/// What happened, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Calls as the program made them.
    pub calls: Calls,
    /// Blocks allocated, by `realloc` too.
    pub allocations: u64,
    /// Their bytes.
    pub allocated_bytes: u64,
    /// Known blocks freed, by `realloc` too.
    pub frees: u64,
    /// Their bytes.
    pub freed_bytes: u64,
    /// Calls that returned NULL for want of memory.
    pub failed: u64,
    /// Calls of `realloc` that made a block larger.
    pub reallocs_grown: u64,
    /// Calls of `realloc` that made a block smaller.
    pub reallocs_shrunk: u64,
    /// Calls of `realloc` that left the size as it was.
    pub reallocs_same: u64,
    /// Frees and reallocs of blocks that were not known: born before the recording or in a parent.
    pub unknown_blocks: u64,
    /// Blocks freed by another thread than their own.
    pub frees_by_others: u64,
    /// Events that are missing.
    pub lost_events: u64,
}

/// Something that is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped {
    /// A number of `heapscribe_wire::head::LossReason`.
    pub reason: u8,
    /// How often.
    pub count: u64,
}

impl Dropped {
    /// The reasons that occurred.
    pub fn list(counters: &[u64; DROP_COUNTERS]) -> Vec<Dropped> {
        let one = |(reason, &count): (usize, &u64)| Dropped { reason: reason as u8, count };
        counters.iter().enumerate().filter(|(_, count)| **count != 0).map(one).collect()
    }
}
