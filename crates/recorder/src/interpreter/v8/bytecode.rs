//! A bytecode of a function, and the position in the source that it has.

use super::heap::{Heap, is_object};
use super::layout::{INDIRECT_BYTECODES, SHARED_CODE};
use super::positions::{Encoding, position_at};
use crate::interpreter::byte_reader::ByteReader;
use crate::interpreter::read::Read;

/// A bytecode of a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytecode {
    /// The function's bytecodes.
    pub(super) array: usize,
    /// Where in these it begins.
    pub(super) offset: usize,
}

impl Bytecode {
    /// A bytecode of the function with this part that it shares with its closures.
    pub(super) fn of_shared<R: Read>(heap: &Heap<'_, R>, shared: usize, offset: usize) -> Option<Bytecode> {
        let code = heap.field(shared, SHARED_CODE)?;
        let is_compiled = heap.kind(code)? == heap.layout.types.code;
        let code = if is_compiled { heap.field(code, heap.layout.code_parts)? } else { code };
        Some(Bytecode { array: bytecodes_of(heap, code)?, offset })
    }

    /// Its position in the source; `None` where there are no positions.
    pub(super) fn position<R: Read>(self, heap: &Heap<'_, R>, encoding: Encoding) -> Option<usize> {
        let (at, length) = heap.bytes(heap.field(self.array, heap.layout.positions)?)?;
        let mut bytes = ByteReader::new(heap.read, at, length);
        position_at(encoding, self.offset, || bytes.next())
    }
}

/// The bytecode array that a word of a code object leads to, if it is that which the code was made of.
pub(super) fn bytecodes_of<R: Read>(heap: &Heap<'_, R>, word: usize) -> Option<usize> {
    let types = heap.layout.types;
    let kind = is_object(word).then(|| heap.kind(word))??;
    let bytecodes = if kind == types.indirect { heap.field(word, INDIRECT_BYTECODES)? } else { word };
    (heap.kind(bytecodes)? == types.bytecodes).then_some(bytecodes)
}
