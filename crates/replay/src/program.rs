//! A program of operations in a file, read in pieces into one buffer: nothing is allocated while it runs.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::op::{OP_BYTES, Op};

/// Bytes that are read at a time.
const PIECE_BYTES: usize = 4096 * OP_BYTES;

/// A program, and how many slots it may name.
#[derive(Debug)]
pub struct Program<'f> {
    file: &'f File,
    slots: usize,
}

impl<'f> Program<'f> {
    /// In a file from its first byte to its last. Slots of `slots` and above are damage.
    pub fn new(file: &'f File, slots: u64) -> Program<'f> {
        Program { file, slots: usize::try_from(slots).unwrap_or(usize::MAX) }
    }

    /// Slots.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// From its beginning.
    pub fn ops(&self) -> Ops<'f> {
        Ops { file: self.file, offset: 0, piece: vec![1; PIECE_BYTES], at: 0, len: 0, slots: self.slots }
    }
}

/// The operations from here on.
#[derive(Debug)]
pub struct Ops<'f> {
    file: &'f File,
    offset: u64,
    piece: Vec<u8>,
    at: usize,
    len: usize,
    slots: usize,
}

impl Ops<'_> {
    /// The next one; `None` at the end.
    ///
    /// # Errors
    /// What cannot be read, and what is no operation, with its offset.
    #[inline]
    pub fn next_op(&mut self) -> io::Result<Option<Op>> {
        if self.at == self.len && !self.fill()? {
            return Ok(None);
        }
        let bytes = self.piece.get(self.at..self.at + OP_BYTES).and_then(|bytes| bytes.first_chunk());
        self.at += OP_BYTES;
        match bytes.and_then(Op::decode) {
            Some(op) if self.is_sane(op) => Ok(Some(op)),
            _ => Err(self.damaged()),
        }
    }

    fn is_sane(&self, op: Op) -> bool {
        match op {
            Op::Alloc { slot, .. } | Op::Free { slot, .. } | Op::Realloc { slot, .. } => {
                (slot as usize) < self.slots
            }
            Op::Moment { .. } | Op::Thread { .. } | Op::Mark => true,
        }
    }

    #[cold]
    fn damaged(&self) -> io::Error {
        let offset = self.offset - (self.len as u64).saturating_sub(self.at as u64) - OP_BYTES as u64;
        io::Error::new(io::ErrorKind::InvalidData, format!("no operation at offset {offset}"))
    }

    #[cold]
    fn fill(&mut self) -> io::Result<bool> {
        (self.at, self.len) = (0, 0);
        while self.len < self.piece.len() {
            match self.file.read_at(&mut self.piece[self.len..], self.offset) {
                Ok(0) => break,
                Ok(n) => {
                    self.len += n;
                    self.offset += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        if !self.len.is_multiple_of(OP_BYTES) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the last operation is cut"));
        }
        Ok(self.len > 0)
    }
}
