//! The fields of a definition, written one behind the other as far as there is room.

use crate::varint;

pub(super) struct FieldWriter<'a> {
    /// Where the definition is to stand.
    pub at: &'a mut [u8],
    /// Bytes that it took; more than there is room for when it had none.
    pub len: usize,
}

impl FieldWriter<'_> {
    pub(super) fn byte(&mut self, value: u8) {
        if let Some(b) = self.at.get_mut(self.len) {
            *b = value;
        }
        self.len += 1;
    }

    pub(super) fn field(&mut self, value: u64) {
        let rest = self.at.get_mut(self.len..).unwrap_or_default();
        let n = varint::put(rest, value);
        self.len = if n == 0 { usize::MAX / 2 } else { self.len + n };
    }

    pub(super) fn text(&mut self, bytes: &[u8], max: usize) {
        let bytes = bytes.get(..max).unwrap_or(bytes);
        self.field(bytes.len() as u64);
        let end = self.len + bytes.len();
        if let Some(place) = self.at.get_mut(self.len..end) {
            place.copy_from_slice(bytes);
        }
        self.len = end;
    }
}
