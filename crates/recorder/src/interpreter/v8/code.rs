//! The code object that machine code belongs to, found from an address in it: its header lies before the first instruction.
//!
//! ```text
//!   up to V8 10   code: map  ...  instructions             since   instructions: map  code  ...  first instruction
//! ```
//! Neither a function nor what it shares leads to all of its code: not to that which has replaced a running loop.

use super::heap::{Heap, is_object};
use crate::interpreter::read::{ADDRESSES, Kernel, Read};

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
            read_upper(heap.read, lowest.wrapping_sub(heap.layout.code_header), &mut bytes).then_some(())?;
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

    /// Whether Maglev has made it, as far as that is known.
    pub(super) fn is_maglev<R: Read>(&self, heap: &Heap<'_, R>) -> Option<bool> {
        const KINDS: usize = 0xf;
        let kind = self.half(heap, heap.layout.optimized.flags)? as usize & KINDS;
        Some(kind == heap.layout.optimized.maglev)
    }

    /// How many bytes its instructions are.
    pub(super) fn instruction_bytes<R: Read>(&self, heap: &Heap<'_, R>) -> Option<usize> {
        let bytes = self.half(heap, heap.layout.optimized.instruction_bytes)? as usize;
        (bytes < CODE_BYTES_MAX).then_some(bytes)
    }

    /// A half of a word of the code object, whose place is 0 when it is not known.
    fn half<R: Read>(&self, heap: &Heap<'_, R>, offset: usize) -> Option<u32> {
        let place = self.object.wrapping_sub(1).wrapping_add(offset);
        if offset == 0 { None } else { heap.read.half(place) }
    }
}

/// Reads as many of these bytes as there are: what is below may be no memory, when V8 has put the code at the beginning of
/// what it mapped. Bytes that are not there stay 0.
fn read_upper(kernel: Kernel, at: usize, bytes: &mut [u8]) -> bool {
    const PAGE: usize = 4096;
    if kernel.bytes(at, bytes) {
        return true;
    }
    let Some(page) = at.checked_next_multiple_of(PAGE) else { return false };
    bytes.get_mut(page - at..).is_some_and(|upper| !upper.is_empty() && kernel.bytes(page, upper))
}

/// Whether these bytes begin as a header does: with two objects. Of instructions a sixteenth would, if they could be anywhere:
/// each was read by the kernel then, 145,000 that are nowhere in a run of node.
fn has_header(bytes: &[u8]) -> bool {
    let words = bytes.as_chunks().0.iter().take(2).map(|word| usize::from_le_bytes(*word));
    words.into_iter().all(|word| is_object(word) && ADDRESSES.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_no_header() {
        let check = |words: [u64; 4], expected| {
            assert_eq!(has_header(words.map(u64::to_le_bytes).as_flattened()), expected, "{words:x?}");
        };
        check([0x3f2d_4bc0_1511, 0x3f2d_4bc0_2a21, 7, 8], true);
        check([0x3f2d_4bc0_1511, 0x3f2d_4bc0_2a20, 7, 8], false);
        // push rbp; mov rbp, rsp; push r15: both begin with a byte that an object may begin with.
        check([0x5641_5741_e589_4855, 0x5641_5741_e589_4855, 7, 8], false);
        check([0x3f2d_4bc0_1511, 0x11, 7, 8], false);
    }

    /// Addresses that a mapping begins at that can be read, with nothing below.
    fn beginnings() -> Vec<usize> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut end = 0;
        let mut found = Vec::new();
        for line in maps.lines() {
            let (range, rest) = line.split_once(' ').unwrap();
            let (from, to) = range.split_once('-').unwrap();
            let [from, to] = [from, to].map(|hex| usize::from_str_radix(hex, 16).unwrap());
            if from > end && rest.starts_with('r') && !line.contains("[v") {
                found.push(from);
            }
            end = to;
        }
        found
    }

    #[test]
    fn code_is_found_where_no_memory_is_below() {
        let kernel = Kernel { pid: std::process::id() };
        let beginning = beginnings().into_iter().next().unwrap();
        let (mut bytes, mut expected) = ([1; 128], [0; 64]);
        assert!(kernel.bytes(beginning, &mut expected));
        bytes[..64].fill(0);
        assert!(read_upper(kernel, beginning - 64, &mut bytes));
        assert_eq!((&bytes[..64], &bytes[64..]), (&[0; 64][..], &expected[..]));
        assert!(!read_upper(kernel, beginning - 128, &mut bytes));
        assert!(!read_upper(kernel, usize::MAX - 10, &mut bytes));
    }
}
