//! Where in the source a frame is: of each kind of code.

use super::baseline;
use super::code::Code;
use super::heap::{Heap, small_integer};
use super::layout::V8;
use super::optimized::{Inlined, inlined};
use super::positions::{Encoding, position_at};
use super::running::{Kind, Running};
use crate::interpreter::byte_reader::ByteReader;
use crate::interpreter::read::Read;

/// The place of a frame, and of the functions that are inlined there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Location {
    /// The position of the function itself; `None`: it is not sure.
    pub(super) position: Option<usize>,
    /// The functions that are inlined, at their positions.
    pub(super) inlined: Inlined,
}

impl Location {
    /// The location of what a frame runs.
    pub(super) fn of<R: Read>(heap: &Heap<'_, R>, v8: &V8, running: Running) -> Location {
        if let Some(bytecode) = Bytecode::of(heap, running) {
            return Location { position: bytecode.position(heap, v8.encoding), ..Location::default() };
        }
        let code = (running.kind == Kind::Compiled).then(|| Code::find(heap, running.at)).flatten();
        let found = code.and_then(|code| inlined(heap, v8.encoding, code, running.at));
        found.map_or(Location::default(), |inlined| Location { position: Some(inlined.position), inlined })
    }
}

/// A bytecode of a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytecode {
    /// The function's bytecodes.
    pub(super) array: usize,
    /// Where in these it begins.
    offset: usize,
}

impl Bytecode {
    /// The bytecode that a frame is at; `None` of optimized code.
    pub(super) fn of<R: Read>(heap: &Heap<'_, R>, running: Running) -> Option<Bytecode> {
        let (array, offset) = match running.kind {
            Kind::Interpreted => {
                (running.code, small_integer(running.at)?.checked_sub(heap.layout.header_bytes)?)
            }
            _ => baseline::bytecode(heap, Code::find(heap, running.at)?, running.at)?,
        };
        Some(Bytecode { array, offset })
    }

    /// Its position in the source; `None` where there are no positions.
    pub(super) fn position<R: Read>(self, heap: &Heap<'_, R>, encoding: Encoding) -> Option<usize> {
        let (at, length) = heap.bytes(heap.field(self.array, heap.layout.positions)?)?;
        let mut bytes = ByteReader::new(heap.read, at, length);
        position_at(encoding, self.offset, || bytes.next())
    }
}
