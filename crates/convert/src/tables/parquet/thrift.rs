//! Thrift's compact protocol, as far as the headers and the footer of a Parquet file need it.

/// A struct that is being written: fields in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Struct {
    out: Vec<u8>,
    last: i16,
}

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Numbers in groups of 7 bits, the lowest first.
pub(super) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

impl Struct {
    fn begin(&mut self, field: i16, kind: u8) {
        let delta = field - self.last;
        debug_assert!((1..=15).contains(&delta), "fields in their order");
        self.out.push((delta as u8) << 4 | kind);
        self.last = field;
    }

    /// A number of 32 bits.
    pub(super) fn i32(mut self, field: i16, value: i32) -> Struct {
        self.begin(field, I32);
        varint(&mut self.out, zigzag(value.into()));
        self
    }

    /// A number of 64 bits.
    pub(super) fn i64(mut self, field: i16, value: i64) -> Struct {
        self.begin(field, I64);
        varint(&mut self.out, zigzag(value));
        self
    }

    /// Yes or no.
    pub(super) fn bool(mut self, field: i16, value: bool) -> Struct {
        self.begin(field, if value { TRUE } else { FALSE });
        self
    }

    /// Bytes or text.
    pub(super) fn bytes(mut self, field: i16, bytes: &[u8]) -> Struct {
        self.begin(field, BINARY);
        varint(&mut self.out, bytes.len() as u64);
        self.out.extend_from_slice(bytes);
        self
    }

    /// A struct.
    pub(super) fn of(mut self, field: i16, value: Struct) -> Struct {
        self.begin(field, STRUCT);
        self.out.extend(value.finish());
        self
    }

    /// A list of structs.
    pub(super) fn list(mut self, field: i16, items: impl IntoIterator<Item = Struct>) -> Struct {
        let items: Vec<Vec<u8>> = items.into_iter().map(Struct::finish).collect();
        self.begin_list(field, STRUCT, items.len());
        items.iter().for_each(|item| self.out.extend_from_slice(item));
        self
    }

    /// A list of numbers.
    pub(super) fn numbers(mut self, field: i16, items: &[i32]) -> Struct {
        self.begin_list(field, I32, items.len());
        items.iter().for_each(|item| varint(&mut self.out, zigzag((*item).into())));
        self
    }

    /// A list of texts.
    pub(super) fn texts(mut self, field: i16, items: &[&str]) -> Struct {
        self.begin_list(field, BINARY, items.len());
        for item in items {
            varint(&mut self.out, item.len() as u64);
            self.out.extend_from_slice(item.as_bytes());
        }
        self
    }

    fn begin_list(&mut self, field: i16, kind: u8, len: usize) {
        self.begin(field, LIST);
        if len < 15 {
            self.out.push((len as u8) << 4 | kind);
        } else {
            self.out.push(0xf0 | kind);
            varint(&mut self.out, len as u64);
        }
    }

    /// Its bytes.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.out.push(0);
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_compact_protocol() {
        let inner = Struct::default().i32(1, -1).bool(3, true);
        let bytes = Struct::default().i64(1, 300).bytes(2, b"ab").of(4, inner).numbers(5, &[0, 1]).finish();
        let expected = [
            0x16, 0xd8, 0x04, // field 1, i64, zigzag of 300
            0x18, 2, b'a', b'b', // field 2, binary
            0x2c, 0x15, 1, 0x21, 0, // field 4, a struct of -1 and true
            0x19, 0x25, 0, 2, // field 5, a list of two i32
            0,
        ];
        assert_eq!(bytes, expected);
        let long: Vec<Struct> = (0..20).map(|_| Struct::default()).collect();
        assert_eq!(Struct::default().list(1, long).finish()[..3], [0x19, 0xfc, 20]);
    }
}
