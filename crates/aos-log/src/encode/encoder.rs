//! What every encoder does for a writer, and its error.

use crate::pack::Record;

/// Bytes that wait at most before a writer writes them, by default.
pub const FLUSH_BYTES: usize = 128 << 10;

/// Places in a file that are multiples of this can be written past the page cache.
pub const SECTOR: usize = 512;

/// A codec refused to go on. None of those here does, unless memory is corrupt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EncodeError {
    /// Which codec.
    pub codec: &'static str,
    /// Its own number of the error.
    pub code: i64,
}

impl std::fmt::Display for EncodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} refused to encode: its error {}", self.codec, self.code)
    }
}

impl std::error::Error for EncodeError {}

/// Turns records into the bytes of a file, in memory that is allocated at construction.
pub trait Encoder: Send {
    /// Whether a record of so many bytes is sure to be taken whole now. One that is not may be, too.
    fn has_space(&self, bytes: usize) -> bool;

    /// Encodes the record from its byte `start` on, as far as there is space, and returns how many bytes it took.
    ///
    /// It takes none only when [`queue`](Self::queue) has to be written out and cleared first.
    fn encode(&mut self, record: &mut dyn Record, start: usize) -> Result<usize, EncodeError>;

    /// What is ready to be written.
    fn queue(&self) -> &[u8];

    /// Forgets what was ready to be written.
    fn clear(&mut self);

    /// Bytes of records that were taken and that a reader of the queue would not find yet.
    fn held_bytes(&self) -> usize;

    /// Puts what is held into the queue. Returns whether all of it is there; if not, write the queue out, clear it, and
    /// call again, before anything else is encoded.
    fn flush(&mut self) -> Result<bool, EncodeError>;

    /// Ends the file. Returns whether all of it is in the queue; if not, write the queue out, clear it, and call
    /// again. Nothing may be encoded after it until [`restart`](Self::restart).
    fn finish(&mut self) -> Result<bool, EncodeError>;

    /// Begins another file. What was not written is forgotten.
    fn restart(&mut self) -> Result<(), EncodeError>;

    /// Bytes of this file so far, those in the queue included.
    fn total_bytes(&self) -> u64;

    /// The extension of a file's name, after that of a part.
    fn extension(&self) -> &'static str;
}
