//! A length that stands before what it measures, known only when that is written: room for a varint of
//! fixed width is left free, the body is written behind it, and the length is put into its place.
//!
//! ```text
//!   [ room of N bytes | body ... ]     every byte of the room but its last has the high bit set
//! ```
//! What is written this way needs no second buffer and is copied nowhere. It costs up to N - 1 bytes, and
//! readers that take varints longer than they have to be, as [`crate::varint::get`] does.
//!
//! *You bring* a buffer that has room for the bound of the whole record; whoever cannot say a bound
//! cannot use this. *It guarantees* that a length is put in once and behind nothing that was not written.
//! *It refuses* a body that is longer than N bytes can tell: nothing is written then. (Other recorders
//! reserve 4 bytes and have met lengths of over 2^28.)

use crate::varint;

/// Writes `value` in all of `at`; false, and nothing written, when it has more than 7 bits for each byte or
/// no reader takes a varint of so many bytes.
pub fn put_padded<const N: usize>(at: &mut [u8; N], mut value: u64) -> bool {
    if N == 0 || N > varint::MAX_BYTES || (N < varint::MAX_BYTES && value >> (7 * N) != 0) {
        return false;
    }
    for byte in at.iter_mut() {
        *byte = value as u8 | 0x80;
        value >>= 7;
    }
    at[N - 1] &= 0x7f;
    true
}

/// Room for the length of what is written next. Who has one has an open record: nothing else may begin
/// in that buffer until it is closed.
#[derive(Debug)]
#[must_use = "a record whose length is not put in cannot be read"]
pub struct Reserved<const N: usize> {
    begin: usize,
}

impl<const N: usize> Reserved<N> {
    /// Leaves room at `len`, the bytes of the buffer that are used, and moves that behind it. `None` when
    /// the buffer has no such room.
    pub fn new(buffer: &[u8], len: &mut usize) -> Option<Reserved<N>> {
        let begin = *len;
        let end = begin.checked_add(N)?;
        buffer.get(begin..end)?;
        *len = end;
        Some(Reserved { begin })
    }

    /// Puts in the length of what was written from behind the room up to `end`; how many bytes that is.
    /// `None` when `end` does not lie in the buffer behind the room, or the length does not fit.
    pub fn close(self, buffer: &mut [u8], end: usize) -> Option<usize> {
        let body = self.begin + N;
        let written = buffer.get(body..end)?.len();
        let room = buffer.get_mut(self.begin..)?.first_chunk_mut::<N>()?;
        put_padded(room, written as u64).then_some(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_padded_number_is_read_like_any_other() {
        fn check<const N: usize>(value: u64) {
            let mut at = [0; N];
            assert!(put_padded(&mut at, value));
            assert_eq!(varint::get(&at), Some((value, N)));
        }
        for value in [0, 1, 127] {
            check::<1>(value);
            check::<2>(value);
            check::<10>(value);
        }
        check::<4>((1 << 28) - 1);
        check::<9>((1 << 63) - 1);
        check::<10>(u64::MAX);
    }

    #[test]
    fn the_bytes_are_those_that_go_writes() {
        let mut at = [0; 10];
        assert!(put_padded(&mut at, 0x97));
        assert_eq!(at, [0x97, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0]);
    }

    #[test]
    fn what_does_not_fit_is_refused_and_leaves_the_room_as_it_was() {
        let mut four = [7; 4];
        assert!(!put_padded(&mut four, 1 << 28));
        assert_eq!(four, [7; 4]);
        assert!(!put_padded(&mut [0; 0], 0));
        assert!(!put_padded(&mut [0; 1], 128));
        assert!(!put_padded(&mut [0; 11], 1));
    }

    #[test]
    fn a_length_stands_before_what_it_measures() {
        let (mut buffer, mut len) = ([0; 16], 1);
        let room = Reserved::<10>::new(&buffer, &mut len).unwrap();
        buffer[len..len + 3].copy_from_slice(b"abc");
        assert_eq!(room.close(&mut buffer, len + 3), Some(3));
        assert_eq!(varint::get(&buffer[1..]), Some((3, 10)));
        assert_eq!(&buffer[11..14], b"abc");
    }

    #[test]
    fn no_room_no_record() {
        let mut len = 7;
        assert!(Reserved::<10>::new(&[0; 16], &mut len).is_none());
        assert_eq!(len, 7);
        assert!(Reserved::<2>::new(&[0; 16], &mut usize::MAX.clone()).is_none());
        let (mut buffer, mut len) = ([0; 200], 0);
        let room = Reserved::<1>::new(&buffer, &mut len).unwrap();
        assert_eq!(room.close(&mut buffer, 129), None, "128 bytes need two");
        let room = Reserved::<1>::new(&buffer, &mut len).unwrap();
        assert_eq!(room.close(&mut buffer, 201), None, "an end outside");
        let room = Reserved::<1>::new(&buffer, &mut len).unwrap();
        assert_eq!(room.close(&mut buffer, 0), None, "an end before the body");
    }
}
