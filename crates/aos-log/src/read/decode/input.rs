//! A file that is read from its beginning to its end, in steps, counting its bytes.

use std::io::{self, Read};

use crate::read::error::ReadError;
use crate::read::limits::STEP_BYTES;

/// Bytes of a file that were read and not yet taken: `held[start..end]`. What lies behind is room that is not cleared
/// again for each read.
pub(super) struct Input<R> {
    file: R,
    held: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes taken.
    taken: u64,
}

impl<R: Read> Input<R> {
    pub(super) fn new(file: R) -> Input<R> {
        Input { file, held: Vec::new(), start: 0, end: 0, taken: 0 }
    }

    /// Where in the file the next byte is.
    pub(super) fn offset(&self) -> u64 {
        self.taken
    }

    /// The next bytes, `n` unless the file ends before, maybe more.
    pub(super) fn peek(&mut self, n: usize) -> Result<&[u8], ReadError> {
        while self.end - self.start < n {
            self.make_room();
            match self.file.read(&mut self.held[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read.min(self.held.len() - self.end),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ReadError::Io { offset: self.taken + self.end as u64, error }),
            }
        }
        Ok(&self.held[self.start..self.end])
    }

    /// Moves what is held to the front, and has room for a step behind it.
    fn make_room(&mut self) {
        self.held.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.held.len() < self.end + STEP_BYTES {
            self.held.resize(self.end + STEP_BYTES, 0);
        }
    }

    /// Passes `n` bytes that [`Self::peek`] gave.
    pub(super) fn pass(&mut self, n: usize) {
        let n = n.min(self.end - self.start);
        self.start += n;
        self.taken += n as u64;
    }

    /// Moves up to `n` bytes, some unless the file has ended.
    pub(super) fn take(&mut self, n: usize, into: &mut Vec<u8>) -> Result<(), ReadError> {
        let found = self.peek(1)?;
        let found = &found[..found.len().min(n)];
        into.extend_from_slice(found);
        let n = found.len();
        self.pass(n);
        Ok(())
    }
}
