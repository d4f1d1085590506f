//! A part of a file, read forward through a buffer that is as large as its longest record needs.

use super::error::{Fault, GoTraceError};
use crate::source::{Source, read_up_to};

/// Bytes that are read at once.
const STEP_BYTES: usize = 64 << 10;

/// The part from `begin` to `end` of a file; what lies before `at` of the buffer is done.
#[derive(Debug, Default)]
pub(crate) struct Window {
    buffer: Vec<u8>,
    /// Where in the file the buffer begins.
    begin: u64,
    end: u64,
    at: usize,
}

impl Window {
    pub(crate) fn new(begin: u64, end: u64) -> Window {
        Window { buffer: Vec::new(), begin, end: end.max(begin), at: 0 }
    }

    /// Where in the file the next byte is.
    #[inline(always)]
    pub(crate) fn offset(&self) -> u64 {
        self.begin + self.at as u64
    }

    #[inline(always)]
    pub(crate) fn is_done(&self) -> bool {
        self.offset() >= self.end
    }

    /// The bytes that are there, from the next one on.
    #[inline(always)]
    pub(crate) fn rest(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// Bytes of the buffer from `from` on; empty when they are not there.
    pub(crate) fn piece(&self, from: usize, len: usize) -> &[u8] {
        self.buffer.get(from..from.saturating_add(len)).unwrap_or_default()
    }

    /// Where in the buffer the next byte is.
    #[inline(always)]
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    #[inline(always)]
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.at = (self.at + bytes).min(self.buffer.len());
    }

    /// Reads on: false when all of the part is in the buffer already, or `most` bytes of it are and no
    /// record is longer.
    pub(crate) fn more<S: Source + ?Sized>(&mut self, source: &S, most: usize) -> Result<bool, GoTraceError> {
        self.buffer.drain(..self.at);
        self.begin += self.at as u64;
        self.at = 0;
        let have = self.buffer.len();
        let left = self.end.saturating_sub(self.begin).saturating_sub(have as u64);
        if left == 0 || have >= most {
            return Ok(false);
        }
        let step = STEP_BYTES.max(have).min(usize::try_from(left).unwrap_or(usize::MAX));
        self.buffer.resize(have + step, 0);
        let offset = self.begin + have as u64;
        let read = read_up_to(source, offset, &mut self.buffer[have..])
            .map_err(|error| GoTraceError::Io { offset, error })?;
        self.buffer.truncate(have + read);
        Ok(read > 0)
    }

    /// What `decode` makes of the next bytes, with as many of them as it needs. The rest of the part
    /// when that ends within it is [`Fault::Cut`].
    #[inline]
    pub(crate) fn next<S: Source + ?Sized, T>(
        &mut self,
        source: &S,
        most: usize,
        mut decode: impl FnMut(&[u8]) -> Result<T, Fault>,
    ) -> Result<Result<T, Fault>, GoTraceError> {
        loop {
            match decode(self.rest()) {
                Err(Fault::Cut) if self.more(source, most)? => {}
                done => return Ok(done),
            }
        }
    }
}
