//! Places in source text as modules, for frames that another profiler named already: a module of one
//! address, whose path has what is to be shown there, so that no file is looked for.
//!
//! ```text
//!   place:  frame (1e frame)...   innermost first
//!   frame   function 1f file 1f line [1f first character 1f character after the last]
//! ```
//! The separators are those that ASCII has for it, record and unit.

use heapscribe_formats::memtrace::{Location, Locations};

use crate::symbols::Step;

const PREFIX: &str = "place:";
const RECORD: char = '\x1e';
const UNIT: char = '\x1f';

/// What a place's module has at most; inlined frames that have no room are left out, the outer ones.
const PATH_BYTES_MAX: usize = heapscribe_wire::limits::NAME_BYTES_MAX;

/// A frame as a place tells it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) function: String,
    pub(crate) file: String,
    pub(crate) line: i64,
    pub(crate) start_char: i64,
    pub(crate) end_char: i64,
}

/// The path of the module for a location's inlined frames, which are outermost first.
pub(crate) fn path(frames: &[Location], locations: &Locations) -> String {
    let text = |name| String::from_utf8_lossy(locations.text(name)).into_owned();
    let place = |frame: &Location| Place {
        function: text(frame.function),
        file: text(frame.file),
        line: i64::from(frame.line),
        start_char: i64::from(frame.start_char),
        end_char: i64::from(frame.end_char),
    };
    path_of(&frames.iter().rev().map(place).collect::<Vec<_>>())
}

/// The path of the module for these frames, innermost first.
pub(crate) fn path_of(frames: &[Place]) -> String {
    let mut path = PREFIX.to_owned();
    for Place { function, file, line, start_char, end_char } in frames {
        let [function, file] = [function, file].map(|text| text.replace([RECORD, UNIT], "?"));
        let one = format!("{function}{UNIT}{file}{UNIT}{line}{UNIT}{start_char}{UNIT}{end_char}");
        if path.len() + one.len() + 1 > PATH_BYTES_MAX {
            break;
        }
        if path.len() > PREFIX.len() {
            path.push(RECORD);
        }
        path.push_str(&one);
    }
    path
}

/// The frames of a place's module, innermost first; `None` for a module that is a file.
pub(crate) fn frames(path: &str) -> Option<Vec<Place>> {
    let records = path.strip_prefix(PREFIX)?.split(RECORD);
    let frames = records.map(|record| {
        let mut units = record.split(UNIT);
        let mut text = || units.next().unwrap_or_default().to_owned();
        let (function, file) = (text(), text());
        let mut number = || text().parse().unwrap_or(0);
        Place { function, file, line: number(), start_char: number(), end_char: number() }
    });
    Some(frames.collect())
}

/// Whether a module's path tells a place.
pub(crate) fn is_place(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// The same as names are shown.
pub(crate) fn steps(path: &str) -> Option<Vec<Step>> {
    let frames = frames(path)?;
    let last = frames.len().saturating_sub(1);
    let step = |(n, place): (usize, Place)| Step {
        function: Some(place.function),
        file: Some(place.file),
        line: u32::try_from(place.line).ok().filter(|line| *line != 0),
        inlined: n < last,
    };
    Some(frames.into_iter().enumerate().map(step).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_its_inlined_frames_innermost_first() {
        let mut locations = Locations::default();
        let (file, outer, inner) =
            (locations.name(b"a.ml"), locations.name(b"outer"), locations.name(b"inner"));
        let frames_of = [Location::clamped(file, outer, 3, 1, 2), Location::clamped(file, inner, 7, 4, 9)];
        let path = path(&frames_of, &locations);
        let found = frames(&path).unwrap();
        let names: Vec<_> = found.iter().map(|p| (p.function.as_str(), p.line, p.end_char)).collect();
        assert_eq!(names, [("inner", 7, 9), ("outer", 3, 2)]);
        let steps = steps(&path).unwrap();
        assert_eq!(steps.iter().map(|s| s.inlined).collect::<Vec<_>>(), [true, false]);
        assert_eq!(frames("/usr/bin/ls"), None);
    }
}
