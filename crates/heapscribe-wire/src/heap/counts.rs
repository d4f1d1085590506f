//! What a heap counts of itself: the words of `heapscribe_alloc`'s `Stats`, in their order.

/// How many words they are.
pub const COUNTS: usize = 12;

/// A heap at one moment. What it does not know is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeapCounts {
    /// What blocks can lie in, free or used.
    pub pool_bytes: u64,
    /// Of them in blocks that are handed out, with what each costs besides.
    pub used_bytes: u64,
    /// The most that `used_bytes` has been.
    pub peak_bytes: u64,
    /// The rest of `pool_bytes`.
    pub free_bytes: u64,
    /// The largest request that would be served now without growing.
    pub largest_free_bytes: u64,
    /// Blocks that are handed out.
    pub blocks: u64,
    /// Pieces that the free bytes are in.
    pub free_blocks: u64,
    /// Areas of memory.
    pub pools: u64,
    /// Areas that came after the first.
    pub growths: u64,
    /// Requests that got nothing.
    pub failures: u64,
    /// Frees of what was free already.
    pub misuses: u64,
    /// Of the pools, kept in memory by the kernel.
    pub locked_bytes: u64,
}

impl HeapCounts {
    /// As words.
    pub const fn to_words(&self) -> [u64; COUNTS] {
        [
            self.pool_bytes,
            self.used_bytes,
            self.peak_bytes,
            self.free_bytes,
            self.largest_free_bytes,
            self.blocks,
            self.free_blocks,
            self.pools,
            self.growths,
            self.failures,
            self.misuses,
            self.locked_bytes,
        ]
    }

    /// Of words.
    pub const fn from_words(words: [u64; COUNTS]) -> HeapCounts {
        let [
            pool_bytes,
            used_bytes,
            peak_bytes,
            free_bytes,
            largest_free_bytes,
            blocks,
            free_blocks,
            pools,
            growths,
            failures,
            misuses,
            locked_bytes,
        ] = words;
        HeapCounts {
            pool_bytes,
            used_bytes,
            peak_bytes,
            free_bytes,
            largest_free_bytes,
            blocks,
            free_blocks,
            pools,
            growths,
            failures,
            misuses,
            locked_bytes,
        }
    }

    /// How much of the free memory a single request could not get, in thousandths: 0 when all of it is one
    /// piece, or when there is none.
    pub fn fragmentation_per_mille(&self) -> u32 {
        let apart = u128::from(self.free_bytes.saturating_sub(self.largest_free_bytes));
        (apart * 1000).checked_div(u128::from(self.free_bytes)).unwrap_or(0) as u32
    }
}
