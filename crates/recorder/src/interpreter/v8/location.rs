//! Where in the source a frame is: of each kind of code.

use super::baseline;
use super::code::Code;
use super::heap::{Heap, small_integer};
use super::optimized::{Inlined, inlined};
use super::positions::{Encoding, position_at};
use super::running::{Kind, Running};
use crate::interpreter::byte_reader::ByteReader;
use crate::interpreter::read::{Kernel, Read};

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
    pub(super) fn of<R: Read>(
        heap: &Heap<'_, R>,
        encoding: Encoding,
        kernel: Kernel,
        running: Running,
    ) -> Location {
        let code = code_of(Heap { read: kernel, layout: heap.layout }, running);
        if let Some(bytecode) = Bytecode::of(heap, kernel, running, code) {
            return Location { position: bytecode.position(heap, encoding), ..Location::default() };
        }
        let found = code.and_then(|code| inlined(heap, encoding, code, running.at));
        found.map_or(Location::default(), |inlined| Location { position: Some(inlined.position), inlined })
    }
}

/// The code that was compiled for a frame; `None` of interpreted code.
pub(super) fn code_of(heap: Heap<'_, Kernel>, running: Running) -> Option<Code> {
    (running.kind == Kind::Compiled).then(|| Code::find(heap, running.at)).flatten()
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
    /// The bytecode that a frame is at; `None` of optimized code. Functions may have an interpreter of their own, whose place
    /// other code takes one day: what its frame has there instead is read by the kernel.
    pub(super) fn of<R: Read>(
        heap: &Heap<'_, R>,
        kernel: Kernel,
        running: Running,
        code: Option<Code>,
    ) -> Option<Bytecode> {
        let (array, offset) = match running.kind {
            Kind::Interpreted => {
                (running.code, small_integer(running.at)?.checked_sub(heap.layout.header_bytes)?)
            }
            _ => baseline::bytecode(heap, code?, running.at)?,
        };
        let kind = Heap { read: kernel, layout: heap.layout }.kind(array)?;
        (kind == heap.layout.types.bytecodes).then_some(Bytecode { array, offset })
    }

    /// Its position in the source; `None` where there are no positions.
    pub(super) fn position<R: Read>(self, heap: &Heap<'_, R>, encoding: Encoding) -> Option<usize> {
        let (at, length) = heap.bytes(heap.field(self.array, heap.layout.positions)?)?;
        let mut bytes = ByteReader::new(heap.read, at, length);
        position_at(encoding, self.offset, || bytes.next())
    }
}
