//! Where glibc's heap has what, on 64 bits: arenas of 2.27 to 2.41 and of 2.17 to 2.26, thread caches of 2.30 to 2.41 and of
//! 2.26 to 2.29. What does not look so is not taken for an arena or a cache. The layout of 2.17 to 2.26 is that of their
//! sources; no such library was there to be tried.

/// How far down fields of `malloc_state` are before 2.27, which added a word before all that are read here.
pub(super) const SHIFTS: [u64; 2] = [0, 8];
/// `malloc_state`: the heads of ten lists of small chunks.
pub(super) const FAST_BINS: u64 = 0x10;
pub(super) const FAST_BINS_COUNT: u64 = 10;
/// The chunk at the end.
pub(super) const TOP: u64 = 0x60;
/// The heads of 127 rings: two pointers each. An empty one points to 16 bytes before itself.
pub(super) const BINS: u64 = 0x70;
pub(super) const BINS_COUNT: u64 = 127;
/// The next arena, in a ring.
pub(super) const NEXT: u64 = 0x870;
pub(super) const ARENA_BYTES: u64 = 0x898;

/// `heap_info`, at the begin of each piece of an arena: the arena, the piece before, bytes in use.
pub(super) const HEAP_PREVIOUS: u64 = 8;
pub(super) const HEAP_BYTES: u64 = 16;
/// Pieces are aligned to this.
pub(super) const HEAP_ALIGN: u64 = 64 << 20;

/// A chunk: the size of the one before, its own size with three flags, and when it is free two pointers.
pub(super) const SIZE: u64 = 8;
pub(super) const FORWARD: u64 = 16;
pub(super) const BACKWARD: u64 = 24;
pub(super) const CHUNK_BYTES_MIN: u64 = 32;
pub(super) const CHUNK_ALIGN: u64 = 16;
pub(super) const PREVIOUS_IN_USE: u64 = 1;
pub(super) const IS_MAPPED: u64 = 2;
pub(super) const NOT_MAIN: u64 = 4;

/// Lists of a thread's cache: their counts, then their heads.
pub(super) const CACHE_LISTS: u64 = 64;

/// Bins whose pointers do not agree, at most: the process may change some while they are read.
pub(super) const CHANGING_BINS_MAX: usize = 8;
/// Bytes of a library's data that are looked through for the main arena.
pub(super) const DATA_BYTES_MAX: u64 = 1 << 20;
/// Addresses end here, also where they have 57 bits.
pub(super) const ADDRESS_MAX: u64 = 1 << 57;
/// Arenas, and pieces of one.
pub(super) const ARENAS_MAX: usize = 1 << 14;
pub(super) const PIECES_MAX: usize = 1 << 14;
/// Bytes below a thread's control block in which its variables are looked for.
pub(super) const VARIABLES_BYTES_MAX: u64 = 4 << 10;
/// Of a mapping larger than this only the end is looked through for control blocks: stacks have theirs there.
pub(super) const SMALL_MAPPING_BYTES: u64 = 256 << 10;
pub(super) const STACK_END_BYTES: u64 = 16 << 10;
/// How often an arena is read that changes meanwhile.
pub(super) const ATTEMPTS: usize = 3;
