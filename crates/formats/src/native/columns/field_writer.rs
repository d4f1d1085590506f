//! A column that is being written, in a buffer of fixed size, so that no write has to grow it.

use heapscribe_wire::varint;

use crate::native::block::EVENTS_BYTES_MAX;

/// Bytes of one column, from its begin.
pub(super) struct FieldWriter {
    bytes: Box<[u8]>,
    at: usize,
}

impl Default for FieldWriter {
    fn default() -> Self {
        FieldWriter { bytes: vec![0; EVENTS_BYTES_MAX].into(), at: 0 }
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
        if let Some(place) = self.bytes.get_mut(self.at) {
            *place = byte;
            self.at += 1;
        }
    }

    /// Writes a number.
    #[inline(always)]
    pub(super) fn number(&mut self, value: u64) {
        if value < 0x80 { self.byte(value as u8) } else { self.long(value) }
    }

    #[inline(always)]
    fn long(&mut self, value: u64) {
        let Some(two) = self.bytes.get_mut(self.at..self.at + 2) else { return };
        if value < 0x4000 {
            two.copy_from_slice(&[value as u8 | 0x80, (value >> 7) as u8]);
            self.at += 2;
        } else {
            self.longer(value);
        }
    }

    #[inline(never)]
    fn longer(&mut self, value: u64) {
        self.at += varint::put(&mut self.bytes[self.at..], value);
    }

    /// The bytes that were written.
    pub(super) fn written(&self) -> &[u8] {
        &self.bytes[..self.at]
    }
}
