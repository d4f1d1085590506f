//! Reads varints one after the other: most are one byte, longer ones are decoded without a branch per byte.

use heapscribe_wire::varint;

/// A place in a column.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// The bytes from here on.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The next byte as it is.
    #[inline(always)]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// The next number.
    #[inline(always)]
    pub(super) fn number(&mut self) -> Option<u64> {
        let byte = *self.bytes.get(self.at)?;
        if byte < 0x80 {
            self.at += 1;
            return Some(u64::from(byte));
        }
        self.long()
    }

    #[inline(always)]
    fn long(&mut self) -> Option<u64> {
        let Some(eight) = self.bytes.get(self.at..self.at + 8) else { return self.slow() };
        let word = u64::from_le_bytes(eight.try_into().ok()?);
        let ends = !word & 0x8080_8080_8080_8080;
        if ends == 0 {
            return self.slow();
        }
        // All bits below the first end.
        let value = word & (ends ^ (ends - 1));
        self.at += (ends.trailing_zeros() / 8 + 1) as usize;
        Some(sevens(value))
    }

    #[cold]
    fn slow(&mut self) -> Option<u64> {
        let (value, n) = varint::get(self.rest())?;
        self.at += n;
        Some(value)
    }
}

/// Puts the low seven bits of each byte side by side.
#[inline(always)]
fn sevens(word: u64) -> u64 {
    let word = word & 0x7f7f_7f7f_7f7f_7f7f;
    let word = (word & 0x7f00_7f00_7f00_7f00) >> 1 | (word & 0x007f_007f_007f_007f);
    let word = (word & 0x3fff_0000_3fff_0000) >> 2 | (word & 0x0000_3fff_0000_3fff);
    (word & 0x0fff_ffff_0000_0000) >> 4 | (word & 0x0000_0000_0fff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_lengths_are_read_wherever_they_stand() {
        let values: Vec<u64> = (0..64).flat_map(|n| [(1 << n) - 1, 1 << n, u64::MAX >> n]).collect();
        let mut bytes = Vec::new();
        for value in &values {
            let mut at = [0; varint::MAX_BYTES];
            let n = varint::put(&mut at, *value);
            bytes.extend_from_slice(&at[..n]);
        }
        let mut cursor = Cursor::new(&bytes);
        let read: Vec<u64> = std::iter::from_fn(|| cursor.number()).collect();
        assert_eq!(read, values);
        assert!(cursor.rest().is_empty());
    }

    #[test]
    fn numbers_that_are_cut_or_too_long_are_none() {
        for bytes in [&[][..], &[0x80], &[0xff; 8], &[0xff; 12]] {
            assert_eq!(Cursor::new(bytes).number(), None, "{bytes:?}");
        }
        assert_eq!(Cursor::new(&[0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00]).number(), Some(1));
    }
}
