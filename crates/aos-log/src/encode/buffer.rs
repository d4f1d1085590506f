//! The memory of an encoder, in which bytes wait to be written.

use super::encoder::SECTOR;

/// Memory that begins at a multiple of [`SECTOR`], is filled from its start, and never grows.
#[derive(Debug)]
pub(super) struct Buffer {
    memory: Vec<u8>,
    offset: usize,
    pub(super) filled: usize,
    pub(super) capacity: usize,
    pub(super) total: u64,
}

impl Buffer {
    pub(super) fn new(capacity: usize) -> Self {
        let memory = vec![0; capacity + SECTOR - 1];
        // What would not be aligned is not wrong, only slower to write.
        let offset = Some(memory.as_ptr().align_offset(SECTOR)).filter(|n| *n < SECTOR).unwrap_or(0);
        Self { memory, offset, filled: 0, capacity, total: 0 }
    }

    pub(super) fn free_bytes(&self) -> usize {
        self.capacity - self.filled
    }

    /// The memory that is not filled.
    pub(super) fn free(&mut self) -> &mut [u8] {
        &mut self.memory[self.offset + self.filled..self.offset + self.capacity]
    }

    /// Marks so many bytes of [`free`](Self::free) as filled.
    pub(super) fn fill(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.free_bytes());
        self.filled += bytes;
        self.total += bytes as u64;
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.free()[..bytes.len()].copy_from_slice(bytes);
        self.fill(bytes.len());
    }

    pub(super) fn filled(&self) -> &[u8] {
        &self.memory[self.offset..self.offset + self.filled]
    }

    pub(super) fn clear(&mut self) {
        self.filled = 0;
    }

    pub(super) fn restart(&mut self) {
        self.filled = 0;
        self.total = 0;
    }
}
