//! Records as they are, in one buffer that is filled to its last byte: a record that does not fit any more
//! gives its beginning, and the rest when the buffer was written out.

use super::buffer::Buffer;
use super::encoder::{EncodeError, Encoder, SECTOR};
use crate::layout::ALIGNMENT;
use crate::pack::Record;

/// The encoder of files that are not compressed.
#[derive(Debug)]
pub struct Plain {
    buffer: Buffer,
}

impl Plain {
    /// An encoder with a buffer of so many bytes, rounded up to whole sectors. A record of just as many fits.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { buffer: Buffer::new(capacity.max(1).next_multiple_of(SECTOR)) }
    }
}

impl Encoder for Plain {
    fn has_space(&self, bytes: usize) -> bool {
        bytes <= self.buffer.free_bytes()
    }

    fn encode(&mut self, record: &mut dyn Record, start: usize) -> Result<usize, EncodeError> {
        // Records have multiples of 8 bytes and so has the buffer: what is left of it has too.
        let bytes = (record.size() - start).min(self.buffer.free_bytes());
        debug_assert!(bytes.is_multiple_of(ALIGNMENT));
        record.write(&mut self.buffer.free()[..bytes], start);
        self.buffer.fill(bytes);
        Ok(bytes)
    }

    fn queue(&self) -> &[u8] {
        self.buffer.filled()
    }

    fn clear(&mut self) {
        self.buffer.clear();
    }

    fn held_bytes(&self) -> usize {
        0
    }

    fn flush(&mut self) -> Result<bool, EncodeError> {
        Ok(true)
    }

    fn finish(&mut self) -> Result<bool, EncodeError> {
        Ok(true)
    }

    fn restart(&mut self) -> Result<(), EncodeError> {
        self.buffer.restart();
        Ok(())
    }

    fn total_bytes(&self) -> u64 {
        self.buffer.total
    }

    fn extension(&self) -> &'static str {
        ""
    }
}
