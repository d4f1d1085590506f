//! Which bytecode a frame is at whose code the baseline compiler (Sparkplug) made: it keeps the interpreter's frame, but for
//! the bytecode's offset.

use super::bytecode::bytecodes_of;
use super::bytecodes::offset_at;
use super::code::Code;
use super::heap::Heap;
use crate::interpreter::byte_reader::ByteReader;
use crate::interpreter::read::Read;

/// The bytecode array and the offset of the bytecode whose code returns to `pc`. `None` of other code.
pub(super) fn bytecode<R: Read>(heap: &Heap<'_, R>, code: Code, pc: usize) -> Option<(usize, usize)> {
    let [first, second] = code.parts(heap)?;
    let bytecodes = bytecodes_of(heap, first)?;
    let (_, length) = heap.bytes(bytecodes)?;
    let start = bytecodes.wrapping_add(heap.layout.header_bytes);
    let (at, bytes) = heap.bytes(second)?;
    let reader = |at, bytes| {
        let mut reader = ByteReader::new(heap.read, at, bytes);
        move || reader.next()
    };
    let end = pc.wrapping_sub(code.start);
    let version = heap.layout.types.version();
    let offset = offset_at(version, length, end, reader(start, length), reader(at, bytes))?;
    Some((bytecodes, offset))
}
