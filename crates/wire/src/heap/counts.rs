//! What a heap counts of itself: the words of `heapscribe_alloc`'s `Stats`, in their order.

/// How many words they are.
pub const COUNTS: usize = 12;

/// The counts, each word named once.
macro_rules! counts {
    ($($(#[$meta:meta])* $word:ident),* $(,)?) => {
        /// A heap at one moment. What it does not know is 0.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct HeapCounts {
            $($(#[$meta])* pub $word: u64,)*
        }

        impl HeapCounts {
            /// As words.
            pub const fn to_words(&self) -> [u64; COUNTS] {
                [$(self.$word),*]
            }

            /// Of words.
            pub const fn from_words(words: [u64; COUNTS]) -> HeapCounts {
                let [$($word),*] = words;
                HeapCounts { $($word),* }
            }
        }
    };
}

counts! {
    /// What blocks can lie in, free or used.
    pool_bytes,
    /// Of them in allocated blocks, with what each costs besides.
    used_bytes,
    /// The most that `used_bytes` has been.
    peak_bytes,
    /// The rest of `pool_bytes`.
    free_bytes,
    /// The largest request that would be served now without growing.
    largest_free_bytes,
    /// Allocated blocks.
    blocks,
    /// Pieces that the free bytes are in.
    free_blocks,
    /// Areas of memory.
    pools,
    /// Areas added after the first.
    growths,
    /// Requests that got nothing.
    failures,
    /// Frees of what was free already.
    misuses,
    /// Of the pools, kept in memory by the kernel.
    locked_bytes,
}

impl HeapCounts {
    /// How much of the free memory a single request could not get, in thousandths: 0 when all of it is one
    /// piece, or when there is none.
    pub fn fragmentation_per_mille(&self) -> u32 {
        let apart = u128::from(self.free_bytes.saturating_sub(self.largest_free_bytes));
        (apart * 1000).checked_div(u128::from(self.free_bytes)).unwrap_or(0) as u32
    }
}
