//! Figures of glibc's heap, which are part of its layout on 64 bits since 2.10, of other heaps, and the bounds of what is listed.

/// Bytes of a chunk before the block: the size word. The word before it belongs to the chunk before.
pub(super) const HEADER_BYTES: u64 = 8;
/// Both words: a chunk in a mapping of its own has no chunk before it.
pub(super) const MAPPED_HEADER_BYTES: u64 = 16;
/// What a free chunk's pointers and sizes take at its begin: trimming leaves it.
pub(super) const FREE_HEADER_BYTES: u64 = 48;
/// The smallest chunk.
pub(super) const CHUNK_BYTES_MIN: u64 = 32;
/// Chunks are multiples of this.
pub(super) const CHUNK_ALIGN: u64 = 16;
/// The largest block of mimalloc whose size is rounded up to a class.
pub(super) const MIMALLOC_CLASSED_BYTES_MAX: u64 = 128 << 10;
/// Classes of sizes up to this are this far apart, those above a fourth of the power of two below.
pub(super) const CLASS_STEP_BYTES: u64 = 16;
/// The smallest class.
pub(super) const CLASS_BYTES_MIN: u64 = 8;
/// An arena grows in pieces of this size, aligned to it.
pub(super) const ARENA_BYTES: u64 = 64 << 20;
/// A block of this size outside of all arenas has a mapping of its own, however it is aligned: the least that glibc's
/// threshold is unless the program lowers it.
pub(super) const MAPPED_BYTES_MIN: u64 = 128 << 10;

/// A page is nearly empty when blocks, headers and rounding take at most this many quarters of it.
pub const PINNED_MAX_QUARTERS: u64 = 3;
/// Of as many.
pub const PINNED_OF_QUARTERS: u64 = 4;

/// Cells of the map of pages.
pub(super) const MAP_CELLS_MAX: usize = 1 << 13;
/// Other mappings that are listed.
pub(super) const OTHERS_MAX: usize = 10;
/// Blocks at the top that are listed.
pub(super) const TOPS_MAX: usize = 10;
