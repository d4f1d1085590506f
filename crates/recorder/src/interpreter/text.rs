//! A Python string as UTF-8, read in place.

use super::layout::OBJECT_LENGTH;
use super::read::Read;

/// In a string: how its characters are stored.
const STATE: usize = 32;
/// Characters that are read at once.
const CHUNK_BYTES: usize = 64;

/// Writes the string at `object` into `to`, as much of it as fits; how many bytes. `None` when it is none that can be read.
/// `headers`: bytes before the characters of an ASCII string, and of another.
pub(super) fn read<R: Read>(read: R, object: usize, headers: [usize; 2], to: &mut [u8]) -> Option<usize> {
    let length = read.word(object.wrapping_add(OBJECT_LENGTH))?;
    let state = read.half(object.wrapping_add(STATE))?;
    let (kind, is_compact, is_ascii) = (state >> 2 & 7, state >> 5 & 1 == 1, state >> 6 & 1 == 1);
    let width = match kind {
        1 | 2 | 4 => kind as usize,
        _ => return None,
    };
    if !is_compact {
        return None;
    }
    let start = object.wrapping_add(if is_ascii { headers[0] } else { headers[1] });
    let mut written = 0;
    let mut chunk = [0; CHUNK_BYTES];
    let mut at = 0;
    while at < length {
        let bytes = ((length - at) * width).min(CHUNK_BYTES);
        let part = chunk.get_mut(..bytes)?;
        if !read.bytes(start.wrapping_add(at * width), part) {
            return None;
        }
        for character in part.chunks_exact(width) {
            let number = character.iter().rev().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
            let mut utf8 = [0; 4];
            let encoded =
                char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut utf8);
            let Some(place) = to.get_mut(written..written + encoded.len()) else { return Some(written) };
            place.copy_from_slice(encoded.as_bytes());
            written += encoded.len();
        }
        at += bytes / width;
    }
    Some(written)
}
