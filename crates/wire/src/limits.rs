//! Every bound in one place, and how they relate. What goes over a bound is counted, never silent.

/// Frames of one stack; of deeper ones frames in the middle are left out, and counted.
pub const DEPTH_MAX: usize = 4096;
/// Outermost frames that are left of a deeper stack.
pub const OUTER_FRAMES: usize = 512;
/// Innermost frames that are left of it are more than so many, and at most twice as many.
pub const INNER_FRAMES: usize = 512;
/// Frames of one stack as it is walked; of deeper ones the outer frames are not found.
pub const WALK_DEPTH_MAX: usize = 1 << 19;

/// Chunks that a log file has room for: so many threads can have one at a time.
pub const CHUNKS_MAX: usize = 8192;
/// Bytes of events in one chunk.
pub const CHUNK_PAYLOAD_BYTES: usize = 64 << 10;
/// Step in which the pages of a chunk are allocated when it is first used.
pub const CHUNK_STEP_BYTES: usize = 16 << 10;

/// Bytes that one event takes at most: a tag and seven varints.
pub const EVENT_BYTES_MAX: usize = 1 + 7 * crate::varint::MAX_BYTES;

/// Bytes of how long a call took: a tag and a varint.
pub const TOOK_BYTES_MAX: usize = 1 + crate::varint::MAX_BYTES;

/// Bytes of the definitions file.
pub const DEFS_BYTES_MAX: usize = 1 << 30;
/// Step in which the pages of the definitions file are allocated.
pub const DEFS_STEP_BYTES: usize = 64 << 10;

/// Bits of a stack number in a live slot.
pub const STACK_BITS: u32 = 26;
/// Bits of a block size in a live slot; a larger size stands in the slot after it.
pub const SIZE_BITS: u32 = 26;
/// Bits of a thread number.
pub const THREAD_BITS: u32 = 24;
/// Bits of the birth time in a live slot: 45 days of 14 ns ticks, after which ages wrap.
pub const BIRTH_BITS: u32 = 48;

/// Stack nodes of one process.
pub const STACKS_MAX: u32 = (1 << STACK_BITS) - 1;
/// Bits of a sampling rate's number in a live slot.
pub const RATE_BITS: u32 = 2;
/// Sampling rates of one process, over its whole life.
pub const RATES_MAX: usize = (1 << RATE_BITS) - 1;

/// Threads of one process, over its whole life. The last number stands for all later ones.
pub const THREADS_MAX: u32 = (1 << THREAD_BITS) - 1;

/// Bytes of a path, name or command line kept.
pub const NAME_BYTES_MAX: usize = 4096;
/// Bytes kept of the name of a function that an interpreter runs.
pub const FUNCTION_NAME_BYTES_MAX: usize = 1024;
/// Bytes kept of the path of its source file.
pub const SOURCE_FILE_BYTES_MAX: usize = NAME_BYTES_MAX - FUNCTION_NAME_BYTES_MAX;
/// Bits of a line in a source file.
pub const LINE_BITS: u32 = 29;
/// Bits of the number of a function that an interpreter runs.
pub const FUNCTION_BITS: u32 = 32;
/// Names of marks and sections of one process.
pub const NAMES_MAX: u32 = 4096;
/// Bytes of the name of a mark or a section kept.
pub const MARK_NAME_BYTES_MAX: usize = 256;
/// Sections that are open on a thread at a time.
pub const SECTIONS_MAX: usize = 16;

/// Bytes of a build id kept.
pub const BUILD_ID_BYTES_MAX: usize = 32;

/// Bytes of one unit of the live file: a table of the radix or 1024 slots.
pub const LIVE_UNIT_BYTES: usize = 16 << 10;
/// Units of the live file.
pub const LIVE_UNITS_MAX: usize = 1 << 21;

const _: () = assert!(CHUNK_PAYLOAD_BYTES.is_multiple_of(CHUNK_STEP_BYTES));
const _: () = assert!(EVENT_BYTES_MAX * (SECTIONS_MAX + 2) < CHUNK_STEP_BYTES);
const _: () = assert!(DEFS_STEP_BYTES > 4 * NAME_BYTES_MAX);
const _: () = assert!(DEFS_BYTES_MAX.is_multiple_of(DEFS_STEP_BYTES));
const _: () = assert!(STACK_BITS + SIZE_BITS + 2 + (THREAD_BITS - 16) + RATE_BITS == 64);
const _: () = assert!(BIRTH_BITS + 16 == 64);
const _: () = assert!((DEPTH_MAX - OUTER_FRAMES).is_multiple_of(INNER_FRAMES));
const _: () = assert!(OUTER_FRAMES + 2 * INNER_FRAMES < DEPTH_MAX);
