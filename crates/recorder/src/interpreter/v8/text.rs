//! A string of V8, read in place: which bytes its characters are, and itself as UTF-8.
//!
//! ```text
//!   sequential, external   characters of a byte (Latin-1) or of two (UTF-16)
//!   thin, sliced           another string, or a part of one       cons   two, of which the second is empty once it is flat
//! ```

use super::heap::{Heap, small_integer};
use super::layout::{FIRST_PART, SECOND_PART, STRING_CHARACTERS, STRING_LENGTH};
use crate::interpreter::read::Read;

/// Strings that refer to each other, at most.
const STEPS: usize = 16;
/// Parts of a name that are waiting, at most.
const PARTS: usize = 16;
const CHUNK_BYTES: usize = 64;

/// In the number of a string's type: how it is stored, whether a character has one byte, and whether an external one has
/// its address in no field.
const REPRESENTATION: usize = 7;
const SEQUENTIAL: usize = 0;
const CONS: usize = 1;
const EXTERNAL: usize = 2;
const SLICED: usize = 3;
const THIN: usize = 5;
const ONE_BYTE: usize = 8;
const UNCACHED: usize = 16;

/// Characters that lie one behind the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Flat {
    /// The first one's address.
    pub at: usize,
    /// How many.
    pub length: usize,
    /// Bytes of each: 1 or 2.
    pub width: usize,
}

/// What a string is.
enum String {
    Flat(Flat),
    /// Two that are not flat.
    Both(usize, usize),
}

fn open<R: Read>(heap: &Heap<'_, R>, mut string: usize) -> Option<String> {
    let (mut skipped, mut wanted) = (0, None);
    for _ in 0..STEPS {
        let kind = heap.kind(string).filter(|kind| *kind < heap.layout.types.not_string)?;
        let own = heap.read.half(string.wrapping_sub(1).wrapping_add(STRING_LENGTH))? as usize;
        let length = wanted.unwrap_or(own);
        let width = if kind & ONE_BYTE == 0 { 2 } else { 1 };
        let flat = |start: usize| {
            let fits = skipped <= own && length <= own - skipped;
            fits.then_some(String::Flat(Flat { at: start.wrapping_add(skipped * width), length, width }))
        };
        match kind & REPRESENTATION {
            SEQUENTIAL => return flat(string.wrapping_sub(1).wrapping_add(STRING_CHARACTERS)),
            EXTERNAL if kind & UNCACHED == 0 => return flat(heap.field(string, SECOND_PART)?),
            THIN => string = heap.field(string, FIRST_PART)?,
            SLICED => {
                skipped += small_integer(heap.field(string, SECOND_PART)?)?;
                wanted = Some(length);
                string = heap.field(string, FIRST_PART)?;
            }
            CONS => {
                let [first, second] = [heap.field(string, FIRST_PART)?, heap.field(string, SECOND_PART)?];
                let rest = heap.read.half(second.wrapping_sub(1).wrapping_add(STRING_LENGTH))?;
                if rest != 0 {
                    return (skipped == 0 && wanted.is_none()).then_some(String::Both(first, second));
                }
                string = first;
            }
            _ => return None,
        }
    }
    None
}

/// The characters of a string that is flat.
pub(super) fn flat<R: Read>(heap: &Heap<'_, R>, string: usize) -> Option<Flat> {
    match open(heap, string)? {
        String::Flat(flat) => Some(flat),
        String::Both(..) => None,
    }
}

/// Writes as much of a string as there is room for: how many bytes. `None` for what is none.
pub(super) fn write<R: Read>(heap: &Heap<'_, R>, string: usize, to: &mut [u8]) -> Option<usize> {
    let mut waiting = [0; PARTS];
    let (mut count, mut next, mut written) = (0, Some(string), 0);
    while let Some(string) = next {
        match open(heap, string)? {
            String::Both(first, second) => {
                *waiting.get_mut(count)? = second;
                (count, next) = (count + 1, Some(first));
                continue;
            }
            String::Flat(flat) => written += write_flat(heap.read, flat, to.get_mut(written..)?)?,
        }
        next = count.checked_sub(1).and_then(|last| waiting.get(last).copied());
        count = count.saturating_sub(1);
    }
    Some(written)
}

fn write_flat<R: Read>(read: R, flat: Flat, to: &mut [u8]) -> Option<usize> {
    let (mut written, mut at, mut high) = (0, 0, None);
    let mut chunk = [0; CHUNK_BYTES];
    while at < flat.length {
        let count = (flat.length - at).min(CHUNK_BYTES / flat.width);
        let part = chunk.get_mut(..count * flat.width)?;
        if !read.bytes(flat.at.wrapping_add(at * flat.width), part) {
            return None;
        }
        for unit in part.chunks_exact(flat.width) {
            let unit = unit.iter().rev().fold(0u32, |unit, byte| unit << 8 | u32::from(*byte));
            let character = match (high.take(), unit) {
                (_, 0xd800..=0xdbff) => {
                    high = Some(unit);
                    continue;
                }
                (Some(high), 0xdc00..=0xdfff) => {
                    char::from_u32(0x10000 + ((high & 0x3ff) << 10 | unit & 0x3ff))
                }
                _ => char::from_u32(unit),
            };
            let mut bytes = [0; 4];
            let bytes = character.unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut bytes).as_bytes();
            let Some(place) = to.get_mut(written..written + bytes.len()) else { return Some(written) };
            place.copy_from_slice(bytes);
            written += bytes.len();
        }
        at += count;
    }
    Some(written)
}
