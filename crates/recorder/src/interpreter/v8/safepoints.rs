//! V8's table of safepoints, which lies behind the instructions of code: by it a call that may return to other code than
//! that which made it, as its function was deoptimized meanwhile, is led to what this needs to know.
//!
//! ```text
//!   header   [slots]  entries  sizes  [tagged slots]                   4 bytes each; slots since V8 13, the last of Maglev alone
//!   entry    pc  deoptimization + 1  pc of its code + 1  ...           of as many bytes as the header says
//!   sizes    is there a deoptimization: 1 bit, bytes of registers: 3, of a pc: 3, of a deoptimization: 3
//! ```

use super::code::Code;
use super::heap::Heap;
use crate::interpreter::byte_reader::ByteReader;
use crate::interpreter::read::Read;

const ENTRIES_MAX: usize = 1 << 16;

/// Where the parts of a table are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape {
    /// Bytes of a pc, of the number of a deoptimization, and what else an entry has.
    pc: usize,
    number: usize,
    rest: usize,
}

impl Shape {
    /// The shape that these bits tell; `None` of a table without deoptimizations.
    fn of(sizes: u32, is_maglev: bool) -> Option<Shape> {
        let size = |bit: u32| (sizes >> bit & 7) as usize;
        let [registers, pc, number] = [size(1), size(4), size(7)];
        let is_possible = sizes & 1 == 1 && (1..=4).contains(&pc) && (1..=4).contains(&number);
        // Maglev has the number of registers that were pushed.
        is_possible.then_some(Shape { pc, number, rest: registers + usize::from(is_maglev) })
    }
}

/// The number of the deoptimization of the call that returns to `offset` in this code; `None` where it has none.
pub(super) fn deoptimization<R: Read>(
    heap: &Heap<'_, R>,
    code: Code,
    is_maglev: bool,
    offset: usize,
) -> Option<usize> {
    let instructions = code.instruction_bytes(heap)?;
    let has_slots = heap.layout.has_positions_first;
    let header = code.start.wrapping_add(instructions + if has_slots { 4 } else { 0 });
    let (entries, sizes) = (heap.read.half(header)? as usize, heap.read.half(header.wrapping_add(4))?);
    let shape = Shape::of(sizes, is_maglev)?;
    let first = header.wrapping_add(if is_maglev { 12 } else { 8 });
    let entry = 2 * shape.pc + shape.number + shape.rest;
    let bytes = entries.min(ENTRIES_MAX) * entry;
    let mut table = ByteReader::new(heap.read, first, bytes);
    found(shape, offset, || table.next())
}

/// The number in the entry of a pc.
fn found(shape: Shape, offset: usize, mut next: impl FnMut() -> Option<u8>) -> Option<usize> {
    let mut number =
        |bytes: usize| (0..bytes).try_fold(0, |number, at| Some(number | usize::from(next()?) << (8 * at)));
    loop {
        let (pc, deoptimization) = (number(shape.pc)?, number(shape.number)?);
        for _ in 0..shape.pc + shape.rest {
            number(1)?;
        }
        if pc == offset {
            return deoptimization.checked_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables of node 24 (V8 13.6): of Maglev, and of TurboFan, whose registers and slots are behind the entries.
    const MAGLEV: (u32, &str) = (0xa3, "2a000a0108000029060000000101aa05111d080000cccc");
    const TURBOFAN: (u32, &str) = (0x4a1, "9f0214f403030315f8035c03000000");

    fn check(is_maglev: bool, (sizes, table): (u32, &str), offset: usize, expected: Option<usize>) {
        let bytes =
            (0..table.len() / 2).map(|at| u8::from_str_radix(&table[2 * at..2 * at + 2], 16).unwrap());
        let mut bytes = bytes;
        let shape = Shape::of(sizes, is_maglev).unwrap();
        assert_eq!(found(shape, offset, || bytes.next()), expected, "{offset:#x}");
    }

    #[test]
    fn a_call_is_led_to_its_deoptimization() {
        check(true, MAGLEV, 0x2a, Some(9));
        check(true, MAGLEV, 0x5aa, Some(16));
        check(false, TURBOFAN, 0x29f, Some(0x13));
        check(false, TURBOFAN, 0x303, Some(0x14));
    }

    #[test]
    fn a_call_without_one_has_no_number() {
        check(true, MAGLEV, 0x629, None);
        check(true, MAGLEV, 0x5a9, None);
        check(false, TURBOFAN, 0x35c, None);
        assert_eq!(Shape::of(0xa2, true), None);
        assert_eq!(Shape::of(0x81, true), None);
    }
}
