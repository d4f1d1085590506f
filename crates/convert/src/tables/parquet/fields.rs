//! Reads Thrift's compact protocol, as far as the headers and the footer of a Parquet file need it. A value that nobody
//! asks for is skipped, whatever it has in it.

use super::Malformed;

/// How deep structs and lists may lie in each other; Parquet's own are below ten.
const DEPTH_MAX: u32 = 24;

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
pub(super) const STRUCT: u8 = 12;

/// A position in bytes that are read from the front to the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where `bytes` begin in the file.
    base: u64,
}

/// The begin of a field of a struct.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) number: i16,
    kind: u8,
}

impl Field {
    /// The value of a yes or no, which has no bytes of its own.
    pub(super) fn is_true(self) -> bool {
        self.kind == TRUE
    }
}

impl<'a> Reader<'a> {
    /// At the first of some bytes, which are at this offset of the file.
    pub(super) fn new(bytes: &'a [u8], base: u64) -> Reader<'a> {
        Reader { bytes, at: 0, base }
    }

    /// The offset in the file of what comes next.
    pub(super) fn offset(&self) -> u64 {
        self.base.saturating_add(self.at as u64)
    }

    pub(super) fn wrong(&self, what: impl Into<String>) -> Malformed {
        Malformed { what: what.into(), offset: self.offset() }
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.wrong("the bytes end in a header"))?;
        self.at += 1;
        Ok(byte)
    }

    /// So many bytes.
    pub(super) fn take(&mut self, count: u64) -> Result<&'a [u8], Malformed> {
        let rest = &self.bytes[self.at..];
        let taken = usize::try_from(count).ok().and_then(|count| rest.get(..count));
        let taken = taken.ok_or_else(|| self.wrong(format!("{count} bytes were to be here")))?;
        self.at += taken.len();
        Ok(taken)
    }

    /// A number in groups of 7 bits.
    pub(super) fn varint(&mut self) -> Result<u64, Malformed> {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
            shift += 7;
            if shift > 63 {
                return Err(self.wrong("a number has more than 64 bits"));
            }
        }
    }

    /// A number with its sign.
    pub(super) fn number(&mut self) -> Result<i64, Malformed> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    /// A number that is a length or a place, and so not negative.
    pub(super) fn length(&mut self) -> Result<u64, Malformed> {
        let number = self.number()?;
        u64::try_from(number).map_err(|_| self.wrong(format!("a length is {number}")))
    }

    /// Bytes with their length before them.
    pub(super) fn binary(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.varint()?;
        self.take(length)
    }

    /// The next field of a struct whose last one had this number; none at its end.
    pub(super) fn field(&mut self, last: i16) -> Result<Option<Field>, Malformed> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(None);
        }
        let number = match head >> 4 {
            0 => i16::try_from(self.number()?).map_err(|_| self.wrong("a field has no number"))?,
            delta => last.checked_add(delta.into()).ok_or_else(|| self.wrong("a field has no number"))?,
        };
        Ok(Some(Field { number, kind: head & 0xf }))
    }

    /// Reads the fields of a struct: `each` says whether it read one.
    pub(super) fn fields(
        &mut self,
        mut each: impl FnMut(&mut Reader<'a>, Field) -> Result<bool, Malformed>,
    ) -> Result<(), Malformed> {
        let mut last = 0;
        while let Some(field) = self.field(last)? {
            last = field.number;
            if !each(self, field)? {
                self.skip(field.kind, 0)?;
            }
        }
        Ok(())
    }

    /// How many entries a list has; they are of this kind.
    pub(super) fn list(&mut self, kind: u8) -> Result<u64, Malformed> {
        let (of, count) = self.list_head()?;
        if of != kind && count > 0 {
            return Err(self.wrong(format!("a list is of kind {of}, not {kind}")));
        }
        Ok(count)
    }

    fn list_head(&mut self) -> Result<(u8, u64), Malformed> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        // Each entry has a byte at least.
        if count > (self.bytes.len() - self.at) as u64 {
            return Err(self.wrong(format!("a list of {count} entries is longer than the rest")));
        }
        Ok((head & 0xf, count))
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Result<(), Malformed> {
        if depth > DEPTH_MAX {
            return Err(self.wrong("structs lie too deep in each other"));
        }
        match kind {
            TRUE | FALSE => {}
            BYTE => drop(self.byte()?),
            4..=6 => drop(self.varint()?),
            DOUBLE => drop(self.take(8)?),
            BINARY => drop(self.binary()?),
            LIST | SET => {
                let (of, count) = self.list_head()?;
                for _ in 0..count {
                    self.skip_entry(of, depth)?;
                }
            }
            MAP => {
                let count = self.varint()?;
                let kinds = if count > 0 { self.byte()? } else { 0 };
                for _ in 0..count {
                    self.skip_entry(kinds >> 4, depth)?;
                    self.skip_entry(kinds & 0xf, depth)?;
                }
            }
            STRUCT => {
                let mut last = 0;
                while let Some(field) = self.field(last)? {
                    last = field.number;
                    self.skip(field.kind, depth + 1)?;
                }
            }
            _ => return Err(self.wrong(format!("there is no kind {kind} of fields"))),
        }
        Ok(())
    }

    /// In lists a yes or no has a byte of its own.
    fn skip_entry(&mut self, kind: u8, depth: u32) -> Result<(), Malformed> {
        self.skip(if kind == TRUE || kind == FALSE { BYTE } else { kind }, depth + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::thrift::Struct;
    use super::*;

    #[test]
    fn what_is_written_is_read_and_the_rest_skipped() {
        let inner = Struct::default().i32(1, -1).bool(3, true).texts(4, &["a"; 20]);
        let bytes = Struct::default().i64(1, -300).of(4, inner).numbers(5, &[0, 1]).bytes(7, b"ab").finish();
        let mut reader = Reader::new(&bytes, 100);
        let (mut number, mut text) = (0, &b""[..]);
        let read = reader.fields(|reader, field| {
            match field.number {
                1 => number = reader.number()?,
                7 => text = reader.binary()?,
                _ => return Ok(false),
            }
            Ok(true)
        });
        read.unwrap();
        assert_eq!((number, text, reader.offset()), (-300, &b"ab"[..], 100 + bytes.len() as u64));
    }

    #[test]
    fn wrong_bytes_have_their_offset() {
        let read = |bytes: &[u8]| Reader::new(bytes, 7).fields(|_, _| Ok(false)).unwrap_err();
        assert_eq!(read(&[0x18, 5, b'a']).to_string(), "5 bytes were to be here, at byte 9");
        assert_eq!(read(&[0x1d]).to_string(), "there is no kind 13 of fields, at byte 8");
        assert!(read(&[0x1c; 100]).to_string().starts_with("structs lie too deep"));
        assert!(read(&[0x19, 0xf6, 0xff, 0xff, 0x7f]).to_string().starts_with("a list of 2097151 entries"));
    }
}
