//! What location codes mean: for each the inlined frames at it, outermost first. Names are kept once.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::event::LocationCode;

/// Largest values that a location's fields hold; what is outside becomes this.
const LINE_MAX: i64 = 0xf_ffff;
const START_CHAR_MAX: i64 = 0xff;
const END_CHAR_MAX: i64 = 0x3ff;

/// A name of a file or function, by its number in the [`Locations`] that gave it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NameId(u32);

impl NameId {
    /// A name that was lost with a damaged part of the file.
    pub const UNKNOWN: NameId = NameId(0);
    /// The file of a location that is too long for the format.
    pub(crate) const NO_FILE: NameId = NameId(1);
    /// The function of a location that is too long for the format.
    pub(crate) const NO_FUNCTION: NameId = NameId(2);
}

const LOST: &[u8] = b"?";

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

/// Names, each once, in the order in which they came.
#[derive(Clone, Debug)]
struct Names {
    numbers: HashMap<Vec<u8>, NameId, RandomState>,
    texts: Vec<Vec<u8>>,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Names { numbers: HashMap::default(), texts: vec![LOST.to_vec()] };
        names.number(b"<unknown>");
        names.number(b"??");
        names
    }
}

impl Names {
    fn number(&mut self, text: &[u8]) -> NameId {
        if let Some(known) = self.numbers.get(text) {
            return *known;
        }
        let number = NameId(u32::try_from(self.texts.len()).unwrap_or(0));
        self.texts.push(text.to_vec());
        self.numbers.insert(text.to_vec(), number);
        number
    }
}

/// The frames of location codes. Codes and names belong to one trace.
#[derive(Clone, Debug, Default)]
pub struct Locations {
    names: Names,
    frames: Vec<Location>,
    by_code: HashMap<LocationCode, (u32, u32), RandomState>,
}

impl Locations {
    /// The number of a name; a new one when it was not seen before.
    pub fn name(&mut self, text: &[u8]) -> NameId {
        self.names.number(text)
    }

    /// The name of a number.
    pub fn text(&self, name: NameId) -> &[u8] {
        self.names.texts.get(name.0 as usize).map_or(LOST, Vec::as_slice)
    }

    /// The inlined frames at a code, outermost first, often none; `None` when the code was never announced.
    pub fn get(&self, code: LocationCode) -> Option<&[Location]> {
        let (start, len) = *self.by_code.get(&code)?;
        self.frames.get(start as usize..(start + len) as usize)
    }

    /// Says what a code means, in place of what it meant before.
    pub fn set(&mut self, code: LocationCode, frames: &[Location]) {
        let start = u32::try_from(self.frames.len()).unwrap_or(u32::MAX);
        self.frames.extend_from_slice(frames);
        self.by_code.insert(code, (start, frames.len() as u32));
    }

    /// Takes a code as a file announces it; false when it was announced as something else.
    pub(crate) fn announce(&mut self, code: LocationCode, frames: &[Location]) -> bool {
        let Some(before) = self.get(code) else {
            self.set(code, frames);
            return true;
        };
        if before == frames {
            return true;
        }
        let agrees = before.len() == frames.len() && before.iter().zip(frames).all(|(a, b)| a.agrees(b));
        if agrees && before.iter().any(|f| f.file == NameId::UNKNOWN || f.function == NameId::UNKNOWN) {
            self.set(code, frames);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_becomes_the_largest() {
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
    fn a_code_that_is_announced_again_must_mean_the_same() {
        let mut table = Locations::default();
        let (a, b) = (table.name(b"a.ml"), table.name(b"b.ml"));
        let place = |file| [Location::clamped(file, NameId::NO_FUNCTION, 1, 2, 3)];
        let code = LocationCode(7);
        assert!(table.announce(code, &place(NameId::UNKNOWN)));
        assert!(table.announce(code, &place(a)));
        assert!(table.announce(code, &place(NameId::UNKNOWN)));
        assert!(!table.announce(code, &place(b)));
        assert!(!table.announce(code, &[]));
        assert_eq!(table.get(code), Some(&place(a)[..]));
        assert_eq!((table.text(a), table.text(NameId::UNKNOWN)), (&b"a.ml"[..], &b"?"[..]));
    }
}
