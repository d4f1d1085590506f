//! Places in source text as modules, for frames that another profiler named already: a module of one
//! address, whose path has what is to be shown there, so that no file is looked for.
//!
//! ```text
//!   place:  frame (1e frame)...   innermost first
//!   frame   function 1f file 1f line [1f first character 1f character after the last]
//! ```
//! The separators are those that ASCII has for it, record and unit.

use crate::names::SourceFrame;

const PREFIX: &str = "place:";
const RECORD: char = '\x1e';
const UNIT: char = '\x1f';

/// What a place's module has at most; inlined frames that have no room are left out, the outer ones.
const PATH_BYTES_MAX: usize = heapscribe_wire::limits::NAME_BYTES_MAX;

/// A frame by its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The function's name.
    pub function: String,
    /// The source file.
    pub file: String,
    /// The line in it; 0 when it is not known.
    pub line: i64,
    /// The first character in the line.
    pub start_char: i64,
    /// The character after the last.
    pub end_char: i64,
}

/// The path of the module for these frames, innermost first.
pub fn path_of(frames: &[Place]) -> String {
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
pub fn frames(path: &str) -> Option<Vec<Place>> {
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

/// Whether a module's path is a place.
pub fn is_place(path: &str) -> bool {
    path.starts_with(PREFIX)
}

/// The same as names are shown.
pub fn source_frames(path: &str) -> Option<Vec<SourceFrame>> {
    let frames = frames(path)?;
    let last = frames.len().saturating_sub(1);
    let frame = |(n, place): (usize, Place)| SourceFrame {
        function: Some(place.function),
        file: Some(place.file).filter(|file| !file.is_empty()),
        line: u32::try_from(place.line).ok().filter(|line| *line != 0),
        inlined: n < last,
    };
    Some(frames.into_iter().enumerate().map(frame).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_its_inlined_frames_innermost_first() {
        let place = |function: &str, line| Place {
            function: function.to_owned(),
            file: "a.ml".to_owned(),
            line,
            start_char: 1,
            end_char: 2,
        };
        let path = path_of(&[place("inner", 7), place("outer", 3)]);
        let found = frames(&path).unwrap();
        assert_eq!(found, [place("inner", 7), place("outer", 3)]);
        let frames_of = source_frames(&path).unwrap();
        assert_eq!(frames_of.iter().map(|frame| frame.inlined).collect::<Vec<_>>(), [true, false]);
        assert_eq!(frames("/usr/bin/ls"), None);
    }
}
