//! A file that is read from its beginning to its end, in steps, counting its bytes.

use std::io::{self, Read};

use crate::read::error::ReadError;
use crate::read::limits::STEP_BYTES;

/// Bytes of a file that were read and not yet taken.
pub(super) struct Input<R> {
    file: R,
    held: Vec<u8>,
    start: usize,
    /// Bytes taken.
    taken: u64,
}

impl<R: Read> Input<R> {
    pub(super) fn new(file: R) -> Input<R> {
        Input { file, held: Vec::new(), start: 0, taken: 0 }
    }

    /// Where in the file the next byte is.
    pub(super) fn offset(&self) -> u64 {
        self.taken
    }

    /// The next bytes, `n` unless the file ends before, maybe more.
    pub(super) fn peek(&mut self, n: usize) -> Result<&[u8], ReadError> {
        while self.held.len() - self.start < n {
            self.held.drain(..self.start);
            self.start = 0;
            let before = self.held.len();
            self.held.resize(before + STEP_BYTES, 0);
            let read = self.file.read(&mut self.held[before..]);
            self.held.truncate(before + read.as_ref().map_or(0, |n| (*n).min(STEP_BYTES)));
            match read {
                Ok(0) => break,
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ReadError::Io { offset: self.taken + before as u64, error }),
            }
        }
        Ok(&self.held[self.start..])
    }

    /// Passes `n` bytes that [`Self::peek`] gave.
    pub(super) fn pass(&mut self, n: usize) {
        let n = n.min(self.held.len() - self.start);
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
