//! Where in the source a frame of optimized code is, and which functions the compiler has inlined there.
//!
//! ```text
//!   source positions      offset of a call's code -> position, number of an inlined function
//!   inlining positions    number -> where it was inlined: position, number of the inlined function that has it; which
//!                         function it is
//!   literals              the functions
//! ```
//! Where a call may be left for other code, what that needs says it ([`deoptimization`]). Other calls are looked for in the
//! table of source positions. Those that may throw have an entry there. A request for memory of V8's own heap has none, and
//! what the collector allocates for itself meanwhile is put to the call before, as V8's profilers do. The table of Maglev's
//! code is not read: code that it puts behind the function's own, for what is rare, has no entries, so that a call there
//! seems to be at whatever comes last, such as the head of a loop.

use super::bytecodes::is_known;
use super::code::Code;
use super::deoptimization;
use super::heap::Heap;
use super::inlined::Inlined;
use super::literals;
use super::positions::{Encoding, Entry, last_entry};
use crate::interpreter::byte_reader::ByteReader;
use crate::interpreter::read::Read;

const INLINING_BYTES: usize = 16;

/// What runs at `pc`: no position where that is not sure. `None` of what cannot be read.
pub(super) fn inlined<R: Read>(
    heap: &Heap<'_, R>,
    encoding: Encoding,
    code: Code,
    pc: usize,
) -> Option<Inlined> {
    if !is_known(heap.layout.types.version()) {
        return Some(Inlined::default());
    }
    let [data, positions] = code.parts(heap)?;
    let offset = pc.wrapping_sub(code.start);
    let found = deoptimization::inlined(heap, encoding, code, data, offset)?;
    if found.is_some() || code.is_maglev(heap) == Some(true) {
        return Some(found.unwrap_or_default());
    }
    let (at, bytes) = heap.bytes(positions)?;
    let mut table = ByteReader::new(heap.read, at, bytes);
    match last_entry(encoding, offset.checked_sub(1)?, || table.next()) {
        Some(entry) => by_entry(heap, data, entry),
        None => Some(Inlined::default()),
    }
}

/// The functions that the entry of a call tells.
fn by_entry<R: Read>(heap: &Heap<'_, R>, data: usize, mut entry: Entry) -> Option<Inlined> {
    let mut found = Inlined::default();
    while let Some(number) = entry.inlined {
        let (function, outer) = inlining(heap, data, number)?;
        found.push(function, Some(entry.position))?;
        entry = outer;
    }
    found.position = Some(entry.position);
    Some(found)
}

/// An inlined function, and the place that it was inlined at.
fn inlining<R: Read>(heap: &Heap<'_, R>, data: usize, number: usize) -> Option<(usize, Entry)> {
    let (at, bytes) = heap.bytes(literals::element(heap, data, heap.layout.inlining_positions)?)?;
    let offset = number * INLINING_BYTES;
    if offset + INLINING_BYTES > bytes {
        return None;
    }
    let mut words = [0; INLINING_BYTES];
    heap.read.bytes(at.wrapping_add(offset), &mut words).then_some(())?;
    let (position, function) = words.split_first_chunk()?;
    let function = u32::from_le_bytes(*function.first_chunk()?) as usize;
    let shared = literals::function(heap, data, function)?;
    Some((shared, Entry::of(0, i64::from_le_bytes(*position))))
}
