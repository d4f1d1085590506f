//! The code object that machine code belongs to, found from an address in it: its header lies before the first instruction.
//!
//! ```text
//!   up to V8 10   code: map  ...  instructions             since   instructions: map  code  ...  first instruction
//! ```
//! Neither a function nor what it shares leads to all of its code: not to that which has replaced a running loop.

use super::heap::{Heap, is_object};
use crate::interpreter::read::{Kernel, Read};

/// No function's code is larger, and instructions begin at such addresses.
const CODE_BYTES_MAX: usize = 1 << 18;
const ALIGNMENT: usize = 32;
/// Addresses that are looked at together.
const STEP: usize = 16;
/// Words of a code object, one of which says where its instructions begin.
const WORDS: usize = 12;
/// In the header of instructions: their code.
const CODE: usize = 8;

/// Code of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Code {
    /// The code object.
    pub(super) object: usize,
    /// Where its instructions begin.
    pub(super) start: usize,
}

impl Code {
    /// The code that `pc` lies in. What lies before it is read by the kernel: there may be nothing.
    pub(super) fn find(heap: Heap<'_, Kernel>, pc: usize) -> Option<Code> {
        let last = pc & !(ALIGNMENT - 1);
        for block in (0..CODE_BYTES_MAX).step_by(STEP * ALIGNMENT) {
            let mut bytes = [0; STEP * ALIGNMENT];
            let lowest = last.wrapping_sub(block).wrapping_sub((STEP - 1) * ALIGNMENT);
            if !heap.read.bytes(lowest.wrapping_sub(heap.layout.code_header), &mut bytes) {
                return None;
            }
            for (index, part) in bytes.chunks_exact(ALIGNMENT).enumerate().rev() {
                let start = lowest.wrapping_add(index * ALIGNMENT);
                if has_header(part)
                    && let Some(code) = Code::at(heap, start)
                {
                    return Some(code);
                }
            }
        }
        None
    }

    /// The code whose instructions begin here. What looks like its header may be instructions.
    fn at(heap: Heap<'_, Kernel>, start: usize) -> Option<Code> {
        let layout = heap.layout;
        let header = start.wrapping_sub(layout.code_header).wrapping_add(1);
        let kind = heap.kind(header)?;
        if kind == layout.types.code && !layout.has_instructions_apart() {
            return Some(Code { object: header, start });
        }
        if kind != layout.types.instructions || !layout.has_instructions_apart() {
            return None;
        }
        let object = heap.field(header, CODE)?;
        let is_its = (1..WORDS).any(|index| heap.field(object, 8 * index) == Some(start));
        (heap.kind(object)? == layout.types.code && is_its).then_some(Code { object, start })
    }

    /// The two words that say what the code was made of: of baseline code the bytecodes and how much code each has become, of
    /// optimized code what functions were inlined and the source positions.
    pub(super) fn parts<R: Read>(&self, heap: &Heap<'_, R>) -> Option<[usize; 2]> {
        let first = heap.layout.code_parts;
        Some([heap.field(self.object, first)?, heap.field(self.object, first + 8)?])
    }
}

/// Whether these bytes begin as a header does: with two objects.
fn has_header(bytes: &[u8]) -> bool {
    let words = bytes.chunks_exact(8).take(2);
    words.into_iter().all(|word| word.first().is_some_and(|byte| is_object(usize::from(*byte))))
}
