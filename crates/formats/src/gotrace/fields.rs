//! The numbers that everything is made of.

use heapscribe_wire::varint;

use super::error::Fault;

/// Takes numbers and texts out of bytes, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    pos: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, pos: 0 }
    }

    #[inline(always)]
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.pos >= self.bytes.len()
    }

    #[inline(always)]
    pub(crate) fn u8(&mut self) -> Result<u8, Fault> {
        let byte = *self.bytes.get(self.pos).ok_or(Fault::Cut)?;
        self.pos += 1;
        Ok(byte)
    }

    /// A number, in as many bytes as it may take: Go pads those that it puts in afterwards.
    #[inline(always)]
    pub(crate) fn number(&mut self) -> Result<u64, Fault> {
        match self.bytes.get(self.pos) {
            Some(&byte) if byte < 0x80 => {
                self.pos += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_number(),
        }
    }

    fn long_number(&mut self) -> Result<u64, Fault> {
        let rest = self.bytes.get(self.pos..).unwrap_or_default();
        match varint::get(rest) {
            Some((value, n)) => {
                self.pos += n;
                Ok(value)
            }
            None if rest.len() < varint::MAX_BYTES && rest.iter().all(|byte| *byte >= 0x80) => {
                Err(Fault::Cut)
            }
            None => Err(Fault::LongNumber),
        }
    }

    /// This many bytes.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<&'a [u8], Fault> {
        let end = self.pos.checked_add(bytes).ok_or(Fault::Cut)?;
        let taken = self.bytes.get(self.pos..end).ok_or(Fault::Cut)?;
        self.pos = end;
        Ok(taken)
    }

    /// A length and as many bytes, at most `most`.
    pub(crate) fn text(&mut self, most: usize) -> Result<&'a [u8], Fault> {
        let bytes = self.number()?;
        match usize::try_from(bytes).ok().filter(|n| *n <= most) {
            Some(n) => self.take(n),
            None => Err(Fault::StringLength(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_be_padded_but_not_longer_than_64_bits() {
        let number = |bytes: &[u8]| Cursor::new(bytes).number();
        assert_eq!(number(&[0x97, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0]), Ok(0x97));
        assert_eq!(number(&[5, 6]), Ok(5));
        assert_eq!(number(&[0x80; 9]), Err(Fault::Cut));
        assert_eq!(number(&[0x80; 10]), Err(Fault::LongNumber));
        assert_eq!(
            number(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]),
            Err(Fault::LongNumber)
        );
        assert_eq!(number(&[]), Err(Fault::Cut));
    }

    #[test]
    fn texts_lie_within_the_bytes() {
        assert_eq!(Cursor::new(b"\x03abcd").text(9), Ok(&b"abc"[..]));
        assert_eq!(Cursor::new(b"\x03ab").text(9), Err(Fault::Cut));
        assert_eq!(Cursor::new(b"\x0aab").text(9), Err(Fault::StringLength(10)));
    }
}
