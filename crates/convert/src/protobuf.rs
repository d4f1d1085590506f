//! Protocol buffers, as far as a profile needs them: fields of varints and of bytes.

use heapscribe_wire::varint;

/// A message that is being written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, value: u64) {
        let mut at = [0; varint::MAX_BYTES];
        let n = varint::put(&mut at, value);
        self.0.extend_from_slice(&at[..n]);
    }

    /// A number; 0 is what a field has that is not there.
    pub(crate) fn number(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.varint(u64::from(field) << 3);
            self.varint(value);
        }
    }

    /// The number 0 of a field of which one of several is there.
    pub(crate) fn zero(&mut self, field: u32) {
        self.varint(u64::from(field) << 3);
        self.varint(0);
    }

    /// Numbers, packed, zeroes too.
    pub(crate) fn numbers(&mut self, field: u32, values: &[u64]) {
        let mut packed = Message::default();
        values.iter().for_each(|value| packed.varint(*value));
        self.bytes(field, &packed.0);
    }

    /// Bytes or text.
    pub(crate) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A number of 64 bits that is not squeezed.
    pub(crate) fn fixed64(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.varint(u64::from(field) << 3 | 1);
            self.0.extend_from_slice(&value.to_le_bytes());
        }
    }

    /// A message within this one.
    pub(crate) fn message(&mut self, field: u32, message: &Message) {
        self.bytes(field, &message.0);
    }

    /// What was written.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_encoding() {
        let mut inner = Message::default();
        inner.number(1, 150);
        let mut message = Message::default();
        message.message(3, &inner);
        message.bytes(2, b"testing");
        message.numbers(6, &[3, 270, 86_942]);
        message.number(7, 0);
        let mut expected = vec![0x1a, 3, 0x08, 0x96, 0x01, 0x12, 7];
        expected.extend_from_slice(b"testing");
        expected.extend_from_slice(&[0x32, 6, 3, 0x8e, 2, 0x9e, 0xa7, 5]);
        assert_eq!(message.into_bytes(), expected);
    }
}
