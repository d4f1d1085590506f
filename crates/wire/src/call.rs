//! The functions of the heap that a program calls, and those of its own pools.

/// The function that the program called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "each is the name of a function of the C library")]
pub enum Call {
    Malloc = 0,
    Calloc = 1,
    Realloc = 2,
    Reallocarray = 3,
    PosixMemalign = 4,
    AlignedAlloc = 5,
    Memalign = 6,
    Valloc = 7,
    Pvalloc = 8,
    Free = 9,
    Cfree = 10,
    FreeSized = 11,
    FreeAlignedSized = 12,
    PoolAlloc = 13,
    PoolFree = 14,
}

impl Call {
    /// All, in the order of their numbers.
    pub const ALL: [Call; 15] = [
        Call::Malloc,
        Call::Calloc,
        Call::Realloc,
        Call::Reallocarray,
        Call::PosixMemalign,
        Call::AlignedAlloc,
        Call::Memalign,
        Call::Valloc,
        Call::Pvalloc,
        Call::Free,
        Call::Cfree,
        Call::FreeSized,
        Call::FreeAlignedSized,
        Call::PoolAlloc,
        Call::PoolFree,
    ];

    /// The name of the function.
    pub const fn name(self) -> &'static str {
        match self {
            Call::Malloc => "malloc",
            Call::Calloc => "calloc",
            Call::Realloc => "realloc",
            Call::Reallocarray => "reallocarray",
            Call::PosixMemalign => "posix_memalign",
            Call::AlignedAlloc => "aligned_alloc",
            Call::Memalign => "memalign",
            Call::Valloc => "valloc",
            Call::Pvalloc => "pvalloc",
            Call::Free => "free",
            Call::Cfree => "cfree",
            Call::FreeSized => "free_sized",
            Call::FreeAlignedSized => "free_aligned_sized",
            Call::PoolAlloc => "pool_alloc",
            Call::PoolFree => "pool_free",
        }
    }

    /// Whether it is about a block of a pool of the program, inside one of the heap's.
    pub const fn is_pool(self) -> bool {
        matches!(self, Call::PoolAlloc | Call::PoolFree)
    }

    /// Whether the caller asks for an alignment.
    pub const fn is_aligned(self) -> bool {
        matches!(
            self,
            Call::PosixMemalign | Call::AlignedAlloc | Call::Memalign | Call::Valloc | Call::Pvalloc
        )
    }

    pub(crate) const fn from_bits(bits: u8) -> Option<Call> {
        if (bits as usize) < Self::ALL.len() { Some(Self::ALL[bits as usize]) } else { None }
    }
}
