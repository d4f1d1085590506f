//! Bounded reading of DWARF's numbers. Every method gives none at the end of the bytes.

use heapscribe_nolibc::loader::Segment;

/// How a pointer is written: a format in the low half, what it is relative to in the high half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Encoding(pub(super) u8);

impl Encoding {
    /// Eight bytes, absolute.
    pub(super) const ABSOLUTE: Encoding = Encoding(0);
    /// No pointer at all.
    const OMIT: u8 = 0xff;

    /// The size of numbers of this format, when they all have the same.
    pub(super) fn fixed_size(self) -> Option<usize> {
        match self.0 {
            Self::OMIT => None,
            encoding => match encoding & 15 {
                0 | 4 | 12 => Some(8),
                3 | 11 => Some(4),
                2 | 10 => Some(2),
                _ => None,
            },
        }
    }

    /// The format without what it is relative to: for lengths.
    pub(super) fn as_length(self) -> Encoding {
        Encoding(self.0 & 15)
    }
}

/// A run of bytes that is preceded by its length.
#[derive(Clone, Debug)]
pub(super) struct Block<'a> {
    /// Where the length is.
    pub(super) address: usize,
    pub(super) reader: Reader<'a>,
}

/// A place in a run of bytes.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    /// Where they end: what does not change with each byte that is read.
    end: usize,
    data_base: Option<usize>,
}

impl<'a> Reader<'a> {
    /// At `address`, up to the end of the segment.
    pub(super) fn new(segment: &Segment<'a>, address: usize) -> Option<Reader<'a>> {
        let bytes = segment.from(address)?;
        Some(Reader { bytes, end: address.checked_add(bytes.len())?, data_base: None })
    }

    /// With a base for data-relative pointers.
    pub(super) fn relative_to(self, base: usize) -> Reader<'a> {
        Reader { data_base: Some(base), ..self }
    }

    /// The next `length` bytes as a reader of their own, which are skipped here.
    pub(super) fn split(&mut self, length: usize) -> Option<Reader<'a>> {
        let bytes = self.bytes.get(..length)?;
        let part = Reader { bytes, end: self.address() + length, ..self.clone() };
        self.skip(length)?;
        Some(part)
    }

    /// A run of bytes with its length before it, as expressions are written.
    pub(super) fn block(&mut self) -> Option<Block<'a>> {
        let address = self.address();
        let length = usize::try_from(self.unsigned()?).ok()?;
        Some(Block { address, reader: self.split(length)? })
    }

    /// All that is left.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn address(&self) -> usize {
        self.end - self.bytes.len()
    }

    pub(super) fn remaining(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn skip(&mut self, length: usize) -> Option<()> {
        self.bytes = self.bytes.get(length..)?;
        Some(())
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let array = *self.bytes.first_chunk::<N>()?;
        self.skip(N)?;
        Some(array)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The bits of a LEB128 number of at most 64, and how many there were.
    #[inline(never)]
    fn leb128(&mut self) -> Option<(u64, u32, u8)> {
        let (mut value, mut shift) = (0u64, 0u32);
        loop {
            let byte = self.u8()?;
            let bits = u64::from(byte & 127);
            if shift > 63 || bits.checked_shl(shift)? >> shift != bits && (shift != 63 || bits != 127) {
                return None;
            }
            value |= bits << shift;
            shift += 7;
            if byte & 128 == 0 {
                return Some((value, shift, byte));
            }
        }
    }

    /// Nearly all have one byte.
    #[inline(always)]
    pub(super) fn unsigned(&mut self) -> Option<u64> {
        match self.bytes.first() {
            Some(&byte) if byte < 128 => self.skip(1).map(|()| byte.into()),
            _ => self.leb128().map(|(value, ..)| value),
        }
    }

    pub(super) fn signed(&mut self) -> Option<i64> {
        let (value, shift, last) = self.leb128()?;
        let sign = if last & 64 != 0 { u64::MAX.checked_shl(shift).unwrap_or(0) } else { 0 };
        Some((value | sign) as i64)
    }

    /// A pointer. None for what is relative to something that is not known here.
    pub(super) fn encoded(&mut self, encoding: Encoding) -> Option<usize> {
        let base = match encoding.0 & 0xf0 {
            0x00 => 0,
            0x10 => self.address(),
            0x30 => self.data_base?,
            _ => return None,
        };
        Some(base.wrapping_add(self.number(encoding)? as usize))
    }

    /// Skips a pointer, whatever it is relative to.
    pub(super) fn skip_encoded(&mut self, encoding: Encoding) -> Option<()> {
        const ALIGNED: u8 = 0x50;
        if encoding.0 == Encoding::OMIT {
            return Some(());
        }
        if encoding.0 == ALIGNED {
            return self.skip(self.address().wrapping_neg() % 8 + 8);
        }
        self.number(encoding).map(drop)
    }

    fn number(&mut self, encoding: Encoding) -> Option<u64> {
        match encoding.0 & 15 {
            0 | 4 | 12 => self.u64(),
            1 => self.unsigned(),
            2 => self.u16().map(u64::from),
            3 => self.u32().map(u64::from),
            9 => self.signed().map(|n| n as u64),
            10 => self.u16().map(|n| n as i16 as u64),
            11 => self.u32().map(|n| n as i32 as u64),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(bytes: &[u8]) -> Reader<'_> {
        Reader::new(&Segment { bytes, address: 0x1000 }, 0x1000).unwrap()
    }

    #[test]
    fn leb128_of_the_standard() {
        assert_eq!(reader(&[0xe5, 0x8e, 0x26]).unsigned(), Some(624_485));
        assert_eq!(reader(&[0x80, 0x7f]).signed(), Some(-128));
        assert_eq!(reader(&[0x80]).unsigned(), None);
        assert_eq!(reader(&[0x80; 20]).unsigned(), None);
        assert_eq!(
            reader(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]).unsigned(),
            Some(u64::MAX)
        );
        assert_eq!(
            reader(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f]).signed(),
            Some(i64::MIN)
        );
    }

    #[test]
    fn pointers_are_relative_to_their_own_place() {
        assert_eq!(reader(&[0xfc, 0xff, 0xff, 0xff]).encoded(Encoding(0x1b)), Some(0xffc));
        assert_eq!(reader(&[4, 0, 0, 0]).relative_to(0x2000).encoded(Encoding(0x3b)), Some(0x2004));
        assert_eq!(reader(&[4, 0, 0, 0]).encoded(Encoding(0x3b)), None);
    }
}
