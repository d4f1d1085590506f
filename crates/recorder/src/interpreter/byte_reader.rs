//! Bytes of the program, read some at a time.

use super::read::Read;

const CHUNK_BYTES: usize = 64;

/// Bytes from an address on, as many as were asked for, or up to one that cannot be read.
#[derive(Debug)]
pub(super) struct ByteReader<R> {
    read: R,
    at: usize,
    end: usize,
    buffer: [u8; CHUNK_BYTES],
    buffered: usize,
    taken: usize,
}

impl<R: Read> ByteReader<R> {
    /// The `length` bytes from `at` on.
    pub(super) fn new(read: R, at: usize, length: usize) -> ByteReader<R> {
        let end = at.saturating_add(length);
        ByteReader { read, at, end, buffer: [0; CHUNK_BYTES], buffered: 0, taken: 0 }
    }

    /// The next byte.
    pub(super) fn next(&mut self) -> Option<u8> {
        if self.taken == self.buffered {
            let bytes = self.end.saturating_sub(self.at).min(self.buffer.len());
            let part = self.buffer.get_mut(..bytes).filter(|part| !part.is_empty())?;
            if !self.read.bytes(self.at, part) {
                return None;
            }
            self.at += bytes;
            (self.buffered, self.taken) = (bytes, 0);
        }
        self.taken += 1;
        self.buffer.get(self.taken - 1).copied()
    }
}
