//! Records to the bytes of a file. An encoder takes all memory that it will ever need when it is made, its
//! codec's too, and keeps it from part to part: between [`Encoder::encode`], [`Encoder::finish`] and
//! [`Encoder::restart`] nothing is allocated. `tests/allocation.rs` counts calls of malloc and holds it to that.
//!
//! | encoder | extension | what a file is |
//! |---|---|---|
//! | [`Plain`] | none | the records |
//! | [`Snappy`] | `.sz` | AOS's framing, or the standard one: chunks of snappy blocks with checksums |
//! | [`Xz`] | `.xz` | an .xz stream with CRC64 |
//! | [`Zstd`] | `.zst` | a skippable frame that says who wrote it, then a zstd frame; AOS cannot read these |
//!
//! What waits to be written is one span of bytes. When there is no more room, an encoder takes only a part of
//! a record; the caller writes the span out, clears it, and gives the rest.

mod lzma;
mod plain;
mod snappy;
mod stream;
mod zstd;

pub use lzma::Xz;
pub use plain::Plain;
pub use snappy::{Framing, Snappy};
pub use zstd::{MARK, Zstd};

use crate::pack::Record;

/// Bytes that wait at most before a writer writes them, unless it is told otherwise.
pub const FLUSH_BYTES: usize = 128 << 10;

/// Places in a file that are multiples of this can be written past the page cache.
pub const SECTOR: usize = 512;

/// A codec refused to go on. None of those here does, unless memory is corrupt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EncodeError {
    /// Which codec.
    pub codec: &'static str,
    /// What it said: its own number for it.
    pub code: i64,
}

impl std::fmt::Display for EncodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} refused to encode: its error {}", self.codec, self.code)
    }
}

impl std::error::Error for EncodeError {}

/// Turns records into the bytes of a file, in memory that it got when it was made.
pub trait Encoder: Send {
    /// Whether a record of so many bytes is sure to be taken whole now. One that is not may be, too.
    fn has_space(&self, bytes: usize) -> bool;

    /// Takes the record from its byte `start` on, as far as there is room, and says how many bytes it took.
    ///
    /// It takes none only when [`queue`](Self::queue) has to be written out and cleared first.
    fn encode(&mut self, record: &mut dyn Record, start: usize) -> Result<usize, EncodeError>;

    /// What is ready to be written.
    fn queue(&self) -> &[u8];

    /// Forgets what was ready to be written.
    fn clear(&mut self);

    /// Ends the file. Says whether all of it is in the queue; if not, write the queue out, clear it, and call
    /// again. Nothing may be encoded after it until [`restart`](Self::restart).
    fn finish(&mut self) -> Result<bool, EncodeError>;

    /// Begins another file. What was not written is forgotten.
    fn restart(&mut self) -> Result<(), EncodeError>;

    /// Bytes of this file so far, those in the queue included.
    fn total_bytes(&self) -> u64;

    /// What a file's name has behind the extension of a part.
    fn extension(&self) -> &'static str;
}

/// Memory that begins at a multiple of [`SECTOR`], is filled from its start, and never grows.
#[derive(Debug)]
struct Buffer {
    memory: Vec<u8>,
    offset: usize,
    filled: usize,
    capacity: usize,
    total: u64,
}

impl Buffer {
    fn new(capacity: usize) -> Self {
        let memory = vec![0; capacity + SECTOR - 1];
        // What would not be aligned is not wrong, only slower to write.
        let offset = Some(memory.as_ptr().align_offset(SECTOR)).filter(|n| *n < SECTOR).unwrap_or(0);
        Self { memory, offset, filled: 0, capacity, total: 0 }
    }

    fn room(&self) -> usize {
        self.capacity - self.filled
    }

    /// The memory that is not filled.
    fn free(&mut self) -> &mut [u8] {
        &mut self.memory[self.offset + self.filled..self.offset + self.capacity]
    }

    /// Says that so many bytes of [`free`](Self::free) are filled now.
    fn fill(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.room());
        self.filled += bytes;
        self.total += bytes as u64;
    }

    fn push(&mut self, bytes: &[u8]) {
        self.free()[..bytes.len()].copy_from_slice(bytes);
        self.fill(bytes.len());
    }

    fn filled(&self) -> &[u8] {
        &self.memory[self.offset..self.offset + self.filled]
    }

    fn clear(&mut self) {
        self.filled = 0;
    }

    fn restart(&mut self) {
        self.filled = 0;
        self.total = 0;
    }
}
