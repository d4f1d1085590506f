//! What a record is to an encoder: something that knows its size and writes any slice of itself.

use crate::layout::ALIGNMENT;

/// Something that knows its size and writes itself, whole or in slices.
///
/// A record may be asked for its slices in any order and more than once, and gives the same bytes each time.
pub trait Record {
    /// Bytes of the whole record, its length in front included: a multiple of [`ALIGNMENT`].
    fn size(&self) -> usize;

    /// Writes the bytes `start..start + destination.len()` of the record: all of `destination`, padding too.
    ///
    /// # Panics
    ///
    /// When the slice does not begin and end at multiples of [`ALIGNMENT`], or ends behind the record.
    fn write(&mut self, destination: &mut [u8], start: usize);
}

/// A record that was written before: bytes that are written as they are.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// A record of these bytes, or none when they are no multiple of [`ALIGNMENT`].
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        bytes.len().is_multiple_of(ALIGNMENT).then_some(Self(bytes))
    }
}

impl Record for Bytes<'_> {
    fn size(&self) -> usize {
        self.0.len()
    }

    fn write(&mut self, destination: &mut [u8], start: usize) {
        check_slice(self.size(), start, destination.len());
        destination.copy_from_slice(&self.0[start..start + destination.len()]);
    }
}

pub(super) fn check_slice(size: usize, start: usize, length: usize) {
    assert!(start.is_multiple_of(ALIGNMENT), "a slice begins at {start}, no multiple of {ALIGNMENT}");
    assert!(length.is_multiple_of(ALIGNMENT), "a slice of {length} bytes, no multiple of {ALIGNMENT}");
    assert!(start <= size && length <= size - start, "{start}+{length} is behind the record's {size} bytes");
}
