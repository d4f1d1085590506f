//! A column that is being written, in a buffer of fixed size, so that no write has to grow it.

use heapscribe_wire::varint;

use crate::native::block::EVENTS_BYTES_MAX;

/// Room behind the last byte, so that what is written as a word needs one check.
const SLACK_BYTES: usize = varint::MAX_BYTES;

/// Bytes of one column, from its begin.
pub(super) struct FieldWriter {
    bytes: Box<[u8; EVENTS_BYTES_MAX + SLACK_BYTES]>,
    at: usize,
}

impl Default for FieldWriter {
    fn default() -> Self {
        FieldWriter { bytes: Box::new([0; EVENTS_BYTES_MAX + SLACK_BYTES]), at: 0 }
    }
}

impl FieldWriter {
    /// Removes all bytes.
    pub(super) fn clear(&mut self) {
        self.at = 0;
    }

    /// Writes one byte. The encoder checks the space beforehand; bytes beyond the buffer are dropped.
    #[inline(always)]
    pub(super) fn byte(&mut self, byte: u8) {
        if self.at < EVENTS_BYTES_MAX {
            self.bytes[self.at] = byte;
            self.at += 1;
        }
    }

    /// Writes a number.
    #[inline(always)]
    pub(super) fn number(&mut self, value: u64) {
        if value >= 1 << 14 {
            return self.long(value);
        }
        if self.at < EVENTS_BYTES_MAX {
            // The second byte of a short number is overwritten by the next.
            let more = u16::from(value >= 0x80);
            let word = value as u16 & 0x7f | (value as u16) << 1 & 0x7f00 | more << 7;
            self.bytes[self.at..self.at + 2].copy_from_slice(&word.to_le_bytes());
            self.at += 1 + usize::from(more);
        }
    }

    #[inline(never)]
    fn long(&mut self, value: u64) {
        if self.at < EVENTS_BYTES_MAX {
            self.at += varint::put(&mut self.bytes[self.at..], value);
        }
    }

    /// The bytes that were written.
    pub(super) fn written(&self) -> &[u8] {
        &self.bytes[..self.at]
    }
}
