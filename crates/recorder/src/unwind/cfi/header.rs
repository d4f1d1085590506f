//! The sorted table of `.eh_frame_hdr`, which leads from a code address to the entry of its function.

use heapscribe_nolibc::loader::Segment;

use super::reader::{Encoding, Reader};

/// The sorted table of `.eh_frame_hdr`: first address of a function, address of its entry.
pub(super) struct Index<'a> {
    rows: Reader<'a>,
    count: usize,
    encoding: Encoding,
    number_size: usize,
    header_address: usize,
}

impl<'a> Index<'a> {
    /// None when the linker has not made one.
    pub(super) fn read(segment: &Segment<'a>, header_address: usize) -> Option<Index<'a>> {
        let mut reader = Reader::new(segment, header_address)?.relative_to(header_address);
        let [version, frame, count, table] = [reader.u8()?, reader.u8()?, reader.u8()?, reader.u8()?];
        let encoding = Encoding(table);
        let number_size = encoding.fixed_size()?;
        if version != 1 {
            return None;
        }
        reader.skip_encoded(Encoding(frame))?;
        let declared = reader.encoded(Encoding(count))?;
        let count = declared.min(reader.remaining() / (2 * number_size));
        Some(Index { rows: reader, count, encoding, number_size, header_address })
    }

    /// The entry of the last function that starts at or before `pc`.
    pub(super) fn find(&self, pc: usize) -> Option<usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.number(2 * middle)? <= pc { low = middle + 1 } else { high = middle }
        }
        self.number(2 * low.checked_sub(1)? + 1)
    }

    fn number(&self, index: usize) -> Option<usize> {
        let mut reader = self.rows.clone();
        reader.skip(index.checked_mul(self.number_size)?)?;
        reader.relative_to(self.header_address).encoded(self.encoding)
    }
}
