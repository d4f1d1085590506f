//! The table of location codes: for each code the inlined frames at it, outermost first.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;

use super::names::{NameId, Names};

/// Largest values that a location's fields hold; what is outside becomes this.
const LINE_MAX: i64 = 0xf_ffff;
const START_CHAR_MAX: i64 = 0xff;
const END_CHAR_MAX: i64 = 0x3ff;

/// A return address, as a number that stands for it in the whole trace. Its inlined frames are in
/// [`Locations`]. 0 is none: memtrace's caches begin full of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct LocationCode(pub i64);

impl LocationCode {
    /// A frame that was lost with a damaged part of the file.
    pub const UNKNOWN: LocationCode = LocationCode(0);
}

/// A place in a program's source: a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Location {
    /// The source file.
    pub file: NameId,
    /// The function.
    pub function: NameId,
    /// The line.
    pub line: u32,
    /// First character in the line.
    pub start_char: u16,
    /// Character after the last one, counted from the line's begin.
    pub end_char: u16,
}

impl Location {
    /// A place whose numbers may be any: those that do not fit become the largest that does.
    pub fn clamped(file: NameId, function: NameId, line: i64, start_char: i64, end_char: i64) -> Location {
        let clamp = |value: i64, max: i64| if (0..=max).contains(&value) { value } else { max };
        Location {
            file,
            function,
            line: clamp(line, LINE_MAX) as u32,
            start_char: clamp(start_char, START_CHAR_MAX) as u16,
            end_char: clamp(end_char, END_CHAR_MAX) as u16,
        }
    }

    /// Whether the two can be the same place, one of them having lost names.
    fn agrees(&self, other: &Location) -> bool {
        let same = |a: NameId, b: NameId| a == b || a == NameId::UNKNOWN || b == NameId::UNKNOWN;
        same(self.file, other.file)
            && same(self.function, other.function)
            && (self.line, self.start_char, self.end_char) == (other.line, other.start_char, other.end_char)
    }
}

/// Where the frames of a code are.
#[derive(Clone, Copy, Debug)]
struct Frames {
    begin: u32,
    len: u32,
}

/// The frames of location codes. Codes and names belong to one trace.
#[derive(Clone, Debug, Default)]
pub struct Locations {
    names: Names,
    frames: Vec<Location>,
    by_code: HashMap<LocationCode, Frames, RandomState>,
}

impl Locations {
    /// The number of a name; a new one when it was not seen before.
    pub fn name(&mut self, text: &[u8]) -> NameId {
        self.names.number(text)
    }

    /// The name of a number.
    pub fn text(&self, name: NameId) -> &[u8] {
        self.names.text(name)
    }

    /// The inlined frames at a code, outermost first, often none; `None` when the code is not defined.
    pub fn get(&self, code: LocationCode) -> Option<&[Location]> {
        self.by_code.get(&code).map(|of| frames(&self.frames, of))
    }

    /// Sets the frames of a code, in place of any others.
    pub fn set(&mut self, code: LocationCode, frames: &[Location]) {
        let of = put(&mut self.frames, frames);
        self.by_code.insert(code, of);
    }

    /// Takes a code as a file defines it; false when it was defined differently before.
    pub(crate) fn define(&mut self, code: LocationCode, new: &[Location]) -> bool {
        let Locations { frames: all, by_code, .. } = self;
        let mut entry = match by_code.entry(code) {
            Entry::Vacant(entry) => {
                entry.insert(put(all, new));
                return true;
            }
            Entry::Occupied(entry) => entry,
        };
        let before = frames(all, entry.get());
        if before == new {
            return true;
        }
        let agrees = before.len() == new.len() && before.iter().zip(new).all(|(a, b)| a.agrees(b));
        if agrees && before.iter().any(|f| f.file == NameId::UNKNOWN || f.function == NameId::UNKNOWN) {
            let of = put(all, new);
            entry.insert(of);
        }
        agrees
    }

    /// The codes, in no order.
    pub fn codes(&self) -> impl Iterator<Item = LocationCode> + '_ {
        self.by_code.keys().copied()
    }

    /// How many codes there are.
    pub fn len(&self) -> usize {
        self.by_code.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_code.is_empty()
    }
}

fn frames<'a>(all: &'a [Location], of: &Frames) -> &'a [Location] {
    all.get(of.begin as usize..(of.begin + of.len) as usize).unwrap_or_default()
}

fn put(all: &mut Vec<Location>, frames: &[Location]) -> Frames {
    let begin = u32::try_from(all.len()).unwrap_or(u32::MAX);
    all.extend_from_slice(frames);
    Frames { begin, len: frames.len() as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_do_not_fit_are_clamped() {
        let check = |line, start, end, expected: (u32, u16, u16)| {
            let l = Location::clamped(NameId::UNKNOWN, NameId::UNKNOWN, line, start, end);
            assert_eq!((l.line, l.start_char, l.end_char), expected);
        };
        check(1, 2, 3, (1, 2, 3));
        check(-1, -3, -3, (0xf_ffff, 255, 1023));
        check(1 << 20, 256, 1024, (0xf_ffff, 255, 1023));
        check(0xf_ffff, 255, 1023, (0xf_ffff, 255, 1023));
    }

    #[test]
    fn a_code_that_is_defined_twice_must_mean_the_same() {
        let mut table = Locations::default();
        let (a, b) = (table.name(b"a.ml"), table.name(b"b.ml"));
        let place = |file| [Location::clamped(file, NameId::NO_FUNCTION, 1, 2, 3)];
        let code = LocationCode(7);
        assert!(table.define(code, &place(NameId::UNKNOWN)));
        assert!(table.define(code, &place(a)));
        assert!(table.define(code, &place(NameId::UNKNOWN)));
        assert!(!table.define(code, &place(b)));
        assert!(!table.define(code, &[]));
        assert_eq!(table.get(code), Some(&place(a)[..]));
        assert_eq!((table.text(a), table.text(NameId::UNKNOWN)), (&b"a.ml"[..], &b"?"[..]));
    }
}
