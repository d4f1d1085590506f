//! Where in the source a frame is: of each kind of code.

use super::baseline;
use super::bytecode::Bytecode;
use super::code::Code;
use super::heap::{Heap, small_integer};
use super::inlined::Inlined;
use super::optimized::inlined;
use super::positions::Encoding;
use super::running::{Kind, Running};
use crate::interpreter::read::{Kernel, Read};

/// The place of a frame, and of the functions that are inlined there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Location {
    /// The position of the function itself; `None`: it is not sure.
    pub(super) position: Option<usize>,
    /// The functions that are inlined, at their positions.
    pub(super) inlined: Inlined,
    /// Whether it was read: then it stays unknown when it is.
    pub(super) is_read: bool,
}

impl Location {
    /// The location of what a frame runs.
    pub(super) fn of<R: Read>(
        heap: &Heap<'_, R>,
        encoding: Encoding,
        kernel: Kernel,
        running: Running,
    ) -> Location {
        if running.kind == Kind::Builtin {
            return Location { is_read: true, ..Location::default() };
        }
        let code = code_of(Heap { read: kernel, layout: heap.layout }, running);
        if let Some(bytecode) = bytecode_of(heap, kernel, running, code) {
            return Location { position: bytecode.position(heap, encoding), ..Location::default() };
        }
        let found = code.and_then(|code| inlined(heap, encoding, code, running.at));
        let (is_read, inlined) = (found.is_some(), found.unwrap_or_default());
        Location { position: inlined.position, inlined, is_read }
    }
}

/// The code that was compiled for a frame; `None` of interpreted code.
pub(super) fn code_of(heap: Heap<'_, Kernel>, running: Running) -> Option<Code> {
    (running.kind == Kind::Compiled).then(|| Code::find(heap, running.at)).flatten()
}

/// The bytecode that a frame is at; `None` of optimized code. Functions may have an interpreter of their own, whose place other
/// code takes one day: what its frame has there instead is read by the kernel.
pub(super) fn bytecode_of<R: Read>(
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
