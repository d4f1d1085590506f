//! Where in the source a frame of optimized code is, and which functions the compiler has inlined there.
//!
//! ```text
//!   source positions      offset of a call's code -> position, number of an inlined function
//!   inlining positions    number -> where it was inlined: position, number of the inlined function that has it; which
//!                         function it is
//!   literals              the functions
//! ```
//! Code that Maglev made for a running loop has the loop's position where that of a call should be: of 240,000 calls of a
//! program's innermost loop 10,000 had the wrong line. So since V8 13 an entry of such code counts only where the call
//! follows directly.
//! Calls that may throw or be left for other code have an entry. A request for memory of V8's own heap has none, and what
//! the collector allocates for itself meanwhile is put to the call before, as V8's profilers do.

use super::code::Code;
use super::heap::{Heap, is_object};
use super::layout::{ARRAY_BYTES, ARRAY_LENGTH};
use super::positions::{Encoding, Entry, last_entry};
use crate::interpreter::byte_reader::ByteReader;
use crate::interpreter::read::Read;

/// Functions that are inlined into each other.
pub(super) const DEPTH_MAX: usize = 16;
const INLINING_BYTES: usize = 16;
/// Bytes of code of a call, from its entry to where it returns.
const CALL_BYTES_MAX: i64 = 24;
/// In place of the loop's bytecode: the code was made for all of a function.
const NO_LOOP: usize = 0xffff_ffff << 32;
/// An array's weak elements.
const WEAK: usize = 2;

/// Inlined calls on a frame, the innermost first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Inlined {
    /// The parts that functions share with their closures, and the positions that these are at.
    pub(super) functions: [(usize, usize); DEPTH_MAX],
    pub(super) count: usize,
    /// The position of the function itself.
    pub(super) position: usize,
}

/// What runs at `pc`. `None` where that is not sure.
pub(super) fn inlined<R: Read>(
    heap: &Heap<'_, R>,
    encoding: Encoding,
    code: Code,
    pc: usize,
) -> Option<Inlined> {
    let [data, positions] = code.parts(heap)?;
    let (at, bytes) = heap.bytes(positions)?;
    let mut table = ByteReader::new(heap.read, at, bytes);
    let end = pc.wrapping_sub(code.start);
    let mut entry = last_entry(encoding, end.checked_sub(1)?, || table.next())?;
    if end as i64 - entry.offset > CALL_BYTES_MAX && may_lack_calls(heap, data)? {
        return None;
    }
    let mut found = Inlined::default();
    while let Some(number) = entry.inlined {
        let (function, outer) = inlining(heap, data, number)?;
        *found.functions.get_mut(found.count)? = (function, entry.position);
        (found.count, entry) = (found.count + 1, outer);
    }
    found.position = entry.position;
    Some(found)
}

/// Whether calls of this code may have no entry: it was made for a running loop, by a V8 that has Maglev do so.
fn may_lack_calls<R: Read>(heap: &Heap<'_, R>, data: usize) -> Option<bool> {
    let layout = heap.layout;
    Some(layout.has_positions_first && element(heap, data, layout.literals + 1)? != NO_LOOP)
}

/// An inlined function, and the place that it was inlined at.
fn inlining<R: Read>(heap: &Heap<'_, R>, data: usize, number: usize) -> Option<(usize, Entry)> {
    let (at, bytes) = heap.bytes(element(heap, data, heap.layout.inlining_positions)?)?;
    let offset = number * INLINING_BYTES;
    if offset + INLINING_BYTES > bytes {
        return None;
    }
    let mut words = [0; INLINING_BYTES];
    heap.read.bytes(at.wrapping_add(offset), &mut words).then_some(())?;
    let (position, function) = words.split_first_chunk()?;
    let function = u32::from_le_bytes(*function.first_chunk()?) as usize;
    let literals = element(heap, data, heap.layout.literals)?;
    let shared = element(heap, literals, function)? & !WEAK;
    let is_shared = is_object(shared) && heap.kind(shared)? == heap.layout.types.shared;
    is_shared.then(|| (shared, Entry::of(0, i64::from_le_bytes(*position))))
}

/// An element of an array.
fn element<R: Read>(heap: &Heap<'_, R>, array: usize, index: usize) -> Option<usize> {
    let length = heap.integer(array, ARRAY_LENGTH)?;
    if index >= length {
        return None;
    }
    heap.field(array, ARRAY_BYTES + 8 * index)
}
