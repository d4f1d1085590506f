//! A frame as valgrind prints it.

use crate::profile::{Frame, Line};

/// What it prints in place of a name.
const NAMELESS: &str = "???";

/// The frame of `0x109162: keep_many (blocks.c:7)`; of another text the text itself.
pub(super) fn frame(text: &str) -> Frame {
    let (address, named) =
        text.split_once(": ").filter(|(address, _)| address.starts_with("0x")).unwrap_or(("", text));
    let (function, place) =
        named.strip_suffix(')').and_then(|named| named.rsplit_once(" (")).unwrap_or((named, ""));
    let place = place.strip_prefix("in ").unwrap_or(place);
    let numbered = place.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    let (file, line) = numbered.unwrap_or((place, 0));
    // Of functions without a name the addresses are all that tells them apart.
    let function = if function == NAMELESS && !address.is_empty() { address } else { function };
    Frame::Named(vec![Line { function: function.to_owned(), file: file.to_owned(), line }])
}
