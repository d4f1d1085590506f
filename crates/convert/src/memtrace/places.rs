//! Locations of memtrace files as places: modules of one address that name what is to be shown there.

use heapscribe_formats::memtrace::{Location, Locations};
use heapscribe_symbols::places::{Place, path_of};

/// The path of the module for a location's inlined frames, which are outermost first.
pub(super) fn path(frames: &[Location], locations: &Locations) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use heapscribe_symbols::places::frames;

    #[test]
    fn inlined_frames_are_innermost_first() {
        let mut locations = Locations::default();
        let (file, outer, inner) =
            (locations.name(b"a.ml"), locations.name(b"outer"), locations.name(b"inner"));
        let frames_of = [Location::clamped(file, outer, 3, 1, 2), Location::clamped(file, inner, 7, 4, 9)];
        let found = frames(&path(&frames_of, &locations)).unwrap();
        let names: Vec<_> = found.iter().map(|p| (p.function.as_str(), p.line, p.end_char)).collect();
        assert_eq!(names, [("inner", 7, 9), ("outer", 3, 2)]);
    }
}
