//! Bounds of a reader's memory, whatever a file contains.

/// The longest record that is read, with its length; AOS's own messages are below 16 MiB.
pub const RECORD_BYTES_MAX: usize = 64 << 20;

/// The most bytes that a chunk of a snappy stream may hold: a record and what was in the chunk before it.
pub const CHUNK_BYTES_MAX: usize = RECORD_BYTES_MAX + (1 << 20);

/// Bytes that are read from a file, or unpacked, at a time.
pub(crate) const STEP_BYTES: usize = 64 << 10;

/// Memory that an xz decoder may ask for: what preset 9, AOS's own, needs is 65 MiB.
pub(crate) const XZ_MEMORY_BYTES_MAX: u64 = 128 << 20;

/// Window of a zstd stream: 2 to this power bytes.
pub(crate) const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// Channels of a configuration. Logs have a few hundred.
pub(crate) const CHANNELS_MAX: usize = 1 << 16;

/// Messages that wait to be brought into order take at most this many bytes.
pub const SORT_BYTES_MAX: usize = 256 << 20;

/// Problems of a log that are listed; more are only counted.
pub const PROBLEMS_MAX: usize = 1000;

// A record that is longer than what may wait would never wait.
const _: () = assert!(RECORD_BYTES_MAX <= SORT_BYTES_MAX);
