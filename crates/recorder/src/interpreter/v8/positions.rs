//! V8's table of source positions: from offsets of bytecodes to positions in the source.
//!
//! ```text
//!   entry     offset and whether it is a statement, then position: both as differences to the entry before, as numbers of
//!             7 bits a byte, the lowest first; before the first entry is the function's own, at offset -1
//!   offset    signed, a statement's; or -1 - that of an expression        up to V8 13
//!             times 4, and two bits                                       since
//!   position  signed: of bit 1 on, one more than the position; bits above are the number of an inlined function
//! ```

/// How offsets are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Encoding {
    Signed,
    Shifted,
}

/// What tables must have for an encoding to be theirs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Bytecodes.
    pub length: i64,
    /// The part of the source.
    pub start: usize,
    pub end: usize,
}

/// An entry: the position from an offset on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) offset: i64,
    /// The position in the source, and the number of the inlined function that it is in.
    pub(super) position: usize,
    pub(super) inlined: Option<usize>,
}

impl Entry {
    /// An entry with a position as V8 has it in a word.
    pub(super) const fn of(offset: i64, word: i64) -> Entry {
        let position = (word as usize >> 1 & 0x3fff_ffff).wrapping_sub(1);
        Entry { offset, position, inlined: (word as usize >> 31 & 0xffff).checked_sub(1) }
    }
}

/// Entries of a table whose bytes `next` gives.
struct Entries<F> {
    encoding: Encoding,
    next: F,
    offset: i64,
    position: i64,
}

impl<F: FnMut() -> Option<u8>> Entries<F> {
    fn new(encoding: Encoding, next: F) -> Entries<F> {
        Entries { encoding, next, offset: -1, position: 0 }
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = (self.next)()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn step(&mut self) -> Option<Entry> {
        let step = match self.encoding {
            Encoding::Signed => {
                let step = self.signed()?;
                if step < 0 { !step } else { step }
            }
            Encoding::Shifted => (self.number()? >> 2) as i64,
        };
        self.offset = self.offset.wrapping_add(step);
        self.position = self.position.wrapping_add(self.signed()?);
        Some(Entry::of(self.offset, self.position))
    }
}

/// The position of the bytecode at an offset.
pub(super) fn position_at(
    encoding: Encoding,
    offset: usize,
    next: impl FnMut() -> Option<u8>,
) -> Option<usize> {
    last_entry(encoding, offset, next).map(|entry| entry.position)
}

/// The last entry up to an offset.
pub(super) fn last_entry(
    encoding: Encoding,
    offset: usize,
    next: impl FnMut() -> Option<u8>,
) -> Option<Entry> {
    let mut entries = Entries::new(encoding, next);
    let mut found = None;
    while let Some(entry) = entries.step().filter(|entry| entry.offset <= offset as i64) {
        found = Some(entry);
    }
    found
}

/// Whether a table can be of this encoding: functions end with a return or a throw, which has a position, and no other is
/// far from the source. Read as the other one its offsets are half of what they are, or twice.
pub(super) fn fits(encoding: Encoding, bounds: Bounds, next: impl FnMut() -> Option<u8>) -> bool {
    let mut entries = Entries::new(encoding, next);
    let mut last = -1;
    while let Some(entry) = entries.step() {
        last = entry.offset;
        if last >= bounds.length || !(bounds.start..=bounds.end).contains(&entry.position) {
            return false;
        }
    }
    last > bounds.length / 4 * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of `inner` in a script run by node 20 (V8 11.3), 24 (13.6) and 25 (14.1).
    const SIGNED: &str = "01a401024c091c11000c5c06140b2821000a5c";
    const OF_13: &str = "01b8d304030004d0010b0008a0010684010f1c16cc01";
    const OF_14: &str = "0290a60406000bd001160013a0010f84011e1c2fcc01";

    fn bytes(hex: &str) -> impl FnMut() -> Option<u8> + '_ {
        let mut bytes =
            (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap());
        move || bytes.next()
    }

    fn check(encoding: Encoding, table: &str, expected: &[(usize, usize)]) {
        for (offset, position) in expected {
            assert_eq!(position_at(encoding, *offset, bytes(table)), Some(*position), "{table} {offset}");
        }
    }

    #[test]
    fn the_last_entry_up_to_an_offset_has_its_position() {
        check(Encoding::Signed, SIGNED, &[(0, 59), (3, 59), (4, 66), (42, 104), (47, 127)]);
        check(Encoding::Signed, OF_13, &[(0, 19_053), (1, 19_053), (2, 19_105)]);
        check(Encoding::Shifted, OF_14, &[(0, 17_603), (2, 17_655)]);
        assert_eq!(position_at(Encoding::Signed, 5, bytes("")), None);
    }

    #[test]
    fn a_table_of_the_other_encoding_does_not_fit() {
        let of_13 = Bounds { length: 33, start: 19_053, end: 20_061 };
        let of_14 = Bounds { length: 33, start: 17_603, end: 18_611 };
        assert!(fits(Encoding::Signed, of_13, bytes(OF_13)) && !fits(Encoding::Shifted, of_13, bytes(OF_13)));
        assert!(fits(Encoding::Shifted, of_14, bytes(OF_14)) && !fits(Encoding::Signed, of_14, bytes(OF_14)));
        assert!(!fits(Encoding::Signed, Bounds { length: 0, ..of_13 }, bytes("")));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_end(table: Vec<u8>, offset: usize) {
            for encoding in [Encoding::Signed, Encoding::Shifted] {
                let next = || { let mut bytes = table.iter().copied(); move || bytes.next() };
                position_at(encoding, offset, next());
                fits(encoding, Bounds { length: 9, start: 0, end: 9 }, next());
            }
        }
    }
}
