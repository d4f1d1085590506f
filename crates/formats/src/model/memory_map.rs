//! What a process has mapped at a moment, and which pages of it are in memory: read beside a table of live blocks.

/// A memory map, but for its mappings and pages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemoryMap {
    /// Number of the table of live blocks that it was read beside.
    pub table: u32,
    /// When reading began, CLOCK_MONOTONIC ns.
    pub begin_mono_ns: u64,
    /// When it ended.
    pub end_mono_ns: u64,
    /// Bytes of a page: a power of two.
    pub page_bytes: u64,
    /// Bytes that the program allocated between the moment of the table and the end of reading: that far blocks and
    /// pages may disagree.
    pub allocated_bytes: u64,
    /// Bytes that it freed meanwhile.
    pub freed_bytes: u64,
    /// The heap that the blocks are of.
    pub heap: HeapLayout,
    /// How many mappings there are.
    pub mappings: u64,
    /// How many runs of pages there are.
    pub runs: u64,
    /// Whether the heap's own lists of free memory were read.
    pub lists: ListsRead,
    /// How many ranges of free memory there are, of these lists.
    pub free: u64,
}

/// Bytes of a huge page where pages have so many: what one table of pages maps, 2 MiB for 4 KiB.
pub fn huge_page_bytes(page_bytes: u64) -> u64 {
    const ENTRY_BYTES: u64 = 8;
    const BYTES_MAX: u64 = 1 << 30;
    (page_bytes.saturating_mul(page_bytes) / ENTRY_BYTES).min(BYTES_MAX).max(page_bytes).max(1)
}

/// Whether a heap's lists of free memory were read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ListsRead {
    /// They are not known, or not to be read.
    #[default]
    No,
    /// Some changed while they were read, were too long, or could not be found: what is in no list may be free.
    InPart,
    /// All of them.
    Whole,
}

/// Memory that a heap has and no block: from one header to the next, so that none overlaps a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FreeRange {
    /// Its first address.
    pub start: u64,
    /// How long it is.
    pub bytes: u64,
    /// Where the heap has it.
    pub kind: FreeKind,
}

/// Bytes that our pool heap takes at the begin of a pool: the next pool, the end, and a word that is not used.
pub const POOL_FRONT_BYTES: u64 = 24;
/// Bytes that it takes at the end: a header.
pub const POOL_END_BYTES: u64 = 8;

/// Where a heap has free memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum FreeKind {
    /// In the cache of a thread (tcache): only this thread takes it, and nothing gives it back.
    #[default]
    ThreadCache,
    /// In a fast bin.
    FastBin,
    /// In another bin: small, large or unsorted.
    Bin,
    /// At the end of an arena, where it grows.
    Top,
    /// Taken by the heap's own structures; of our pool heap the begin and the end of each pool.
    Own,
    /// A free block of a pool of our pool heap.
    Pool,
}

impl FreeKind {
    /// All of them, in the order of their numbers in a trace.
    pub const ALL: [FreeKind; 6] = [
        FreeKind::ThreadCache,
        FreeKind::FastBin,
        FreeKind::Bin,
        FreeKind::Top,
        FreeKind::Own,
        FreeKind::Pool,
    ];
}

/// How a heap lays out its blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HeapLayout {
    /// Not known.
    #[default]
    Unknown,
    /// That of glibc: chunks with a header of 8 bytes, in a heap that grows by brk, in arenas of 64 MiB, and in mappings
    /// of their own.
    Glibc,
    /// That of our pool heap: blocks with a word before each, in pools.
    Tlsf,
    /// jemalloc's: blocks of one size side by side.
    Jemalloc,
    /// mimalloc's: the same, of nearly the same sizes.
    Mimalloc,
    /// tcmalloc's: the same, of sizes that depend on its version.
    Tcmalloc,
}

impl HeapLayout {
    /// All of them, in the order of their numbers in a trace.
    pub const ALL: [HeapLayout; 6] = [
        HeapLayout::Unknown,
        HeapLayout::Glibc,
        HeapLayout::Tlsf,
        HeapLayout::Jemalloc,
        HeapLayout::Mimalloc,
        HeapLayout::Tcmalloc,
    ];

    /// What the heap is called; `None` where nobody knows.
    pub fn name(self) -> Option<&'static str> {
        match self {
            HeapLayout::Unknown => None,
            HeapLayout::Glibc => Some("glibc"),
            HeapLayout::Tlsf => Some("tlsf"),
            HeapLayout::Jemalloc => Some("jemalloc"),
            HeapLayout::Mimalloc => Some("mimalloc"),
            HeapLayout::Tcmalloc => Some("tcmalloc"),
        }
    }
}

/// A mapping.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mapping {
    /// Its first address.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// What may be done with it.
    pub access: Access,
    /// Whether it is the recorder's own.
    pub is_recorder: bool,
    /// Whether it is known to be the heap's whose blocks are recorded, with or without a block in it.
    pub is_heap: bool,
    /// The path of its file, or a name of the kernel's such as `[heap]`; empty when it has none.
    pub path: Vec<u8>,
    /// Bytes in memory, as the kernel counts them.
    pub resident_bytes: u64,
    /// Of these, bytes that belong to no file.
    pub anonymous_bytes: u64,
    /// Bytes that are swapped out.
    pub swapped_bytes: u64,
    /// Bytes in huge pages.
    pub huge_bytes: u64,
}

/// What may be done with a mapping.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs, reason = "the letters of /proc/PID/maps")]
pub struct Access {
    pub read: bool,
    pub write: bool,
    pub execute: bool,
    pub shared: bool,
}

/// Pages of an anonymous mapping, one after the other; pages in no run are neither in memory nor swapped out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PageRun {
    /// Address of the first one.
    pub start: u64,
    /// How many.
    pub pages: u64,
    /// Whether they are swapped out; else they are in memory.
    pub is_swapped: bool,
}
