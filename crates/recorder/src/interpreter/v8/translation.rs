//! V8's translations: what frames the interpreter would have in place of one of optimized code, at a call of this. Errors
//! have their stacks from here, too.
//!
//! ```text
//!   translation   BEGIN distance frames functions ...  then for each frame, the outermost first: its opcode, operands, values
//!   operand       numbers of 7 bits a byte, the lowest first; of signed ones bit 0 is the sign
//!   MATCH n       the next n opcodes are those of the translation that is the distance before
//! ```
//! A byte above all opcodes is a MATCH of as many as it is above. Opcodes and their operands are those of the versions that
//! were looked at, told by the numbers of V8's types.

use crate::interpreter::read::Read;

/// Opcodes of a version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Opcodes {
    /// The numbers of the types of bytecode arrays and code.
    types: [usize; 2],
    /// How many operands each has: a digit. The first four are frames of functions; the last is MATCH.
    operands: &'static [u8],
    /// The first of the two BEGIN.
    begin: u8,
}

/// From the program's own table of operands (`TranslationOpcodeOperandCount`).
const OPCODES: [Opcodes; 3] = [
    // 14.1 and 13.6, of node 25 and 24.
    Opcodes { types: [184, 185], operands: b"643321343331003311101111111111111111101111121", begin: 14 },
    Opcodes { types: [186, 187], operands: b"643321343331003311101111111111111111101111121", begin: 14 },
    // 12.4, of node 22.
    Opcodes { types: [205, 206], operands: b"5333213432103311111111111111111101111121", begin: 12 },
];

/// The opcodes of frames that the interpreter has, before those of builtin functions; and of all frames of functions.
const INTERPRETED: u8 = 2;
const FUNCTIONS: u8 = 4;

impl Opcodes {
    /// The opcodes of the version that has these types.
    pub(super) fn of(types: [usize; 2]) -> Option<&'static Opcodes> {
        OPCODES.iter().find(|opcodes| opcodes.types == types)
    }

    fn operands(&self, opcode: u8) -> Option<usize> {
        self.operands.get(usize::from(opcode)).map(|digit| usize::from(digit - b'0'))
    }

    fn is_begin(&self, opcode: u8) -> bool {
        opcode == self.begin || opcode == self.begin + 1
    }

    /// How many opcodes are matched by a byte: `None` where a number says that. Nothing of an opcode of its own.
    fn matched(&self, byte: u8) -> Option<Option<usize>> {
        let count = self.operands.len();
        (usize::from(byte) + 1 >= count).then(|| usize::from(byte).checked_sub(count))
    }
}

/// A frame of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Translated {
    /// The number of the function among the literals.
    pub(super) literal: usize,
    /// The offset of its bytecode; `None` before the first one.
    pub(super) offset: Option<usize>,
}

/// The translation that begins at an index of some bytes.
#[derive(Debug)]
pub(super) struct Translation<R> {
    read: R,
    /// The bytes: where they are, and how many.
    bytes: (usize, usize),
    opcodes: &'static Opcodes,
    /// What is read next, here and in the translation that parts of this one match.
    index: usize,
    previous: usize,
    /// Opcodes that are still matched, and others since the last of these.
    matched: usize,
    since: usize,
    /// Frames of functions that follow.
    functions: usize,
}

impl<R: Read> Translation<R> {
    /// The translation at an index.
    pub(super) fn new(
        read: R,
        bytes: (usize, usize),
        opcodes: &'static Opcodes,
        index: usize,
    ) -> Option<Translation<R>> {
        let (previous, matched, since, functions) = (0, 0, 1, 0);
        let mut new = Translation { read, bytes, opcodes, index, previous, matched, since, functions };
        opcodes.is_begin(new.byte(index)?).then_some(())?;
        new.index += 1;
        let distance = new.operand()?;
        new.previous = index.checked_sub(distance)?;
        // All frames, then those of functions, and what else BEGIN has.
        new.operand()?;
        new.functions = signed(new.operand()?)?;
        Some(new)
    }

    /// The next frame of a function that is interpreted, further in: nothing after the last. `None` of what is no translation.
    /// Frames of builtin functions have the function that called these, and are no call of it.
    pub(super) fn next(&mut self) -> Option<Option<Translated>> {
        while let Some(functions) = self.functions.checked_sub(1) {
            let opcode = self.opcode()?;
            let operands = self.opcodes.operands(opcode).filter(|_| !self.opcodes.is_begin(opcode))?;
            if opcode < FUNCTIONS {
                self.functions = functions;
            }
            if opcode >= INTERPRETED {
                self.skip(operands)?;
                continue;
            }
            let (offset, literal) = (signed(self.operand()?), signed(self.operand()?)?);
            self.skip(operands.checked_sub(2)?)?;
            return Some(Some(Translated { literal, offset }));
        }
        Some(None)
    }

    fn opcode(&mut self) -> Option<u8> {
        self.matched = self.matched.saturating_sub(1);
        if self.matched > 0 {
            return self.previous_opcode();
        }
        let opcode = self.byte(self.index)?;
        self.index += 1;
        let Some(count) = self.opcodes.matched(opcode) else {
            self.since += 1;
            return Some(opcode);
        };
        let count = if let Some(count) = count { count } else { self.operand()? };
        self.matched = count.max(1);
        for _ in 0..self.since {
            let skipped = self.previous_opcode()?;
            self.skip(self.opcodes.operands(skipped)?)?;
        }
        self.since = 0;
        self.previous_opcode()
    }

    fn previous_opcode(&mut self) -> Option<u8> {
        self.previous += 1;
        self.byte(self.previous - 1)
    }

    fn skip(&mut self, operands: usize) -> Option<()> {
        (0..operands).try_for_each(|_| self.operand().map(drop))
    }

    /// An operand of the opcode that was read last.
    fn operand(&mut self) -> Option<usize> {
        let mut number = 0;
        for shift in (0..35).step_by(7) {
            let index = if self.matched > 0 { &mut self.previous } else { &mut self.index };
            *index += 1;
            let at = *index - 1;
            let byte = self.byte(at)?;
            number |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn byte(&self, index: usize) -> Option<u8> {
        let (at, length) = self.bytes;
        let mut byte = [0];
        let is_read = index < length && self.read.bytes(at.wrapping_add(index), &mut byte);
        is_read.then_some(byte[0])
    }
}

/// A signed operand that is not negative.
const fn signed(operand: usize) -> Option<usize> {
    if operand & 1 == 0 { Some(operand >> 1) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpreter::read::Kernel;

    const V13: [usize; 2] = [186, 187];
    const V12: [usize; 2] = [205, 206];

    /// Of `fs.readSync` in node 24, with the checks of its arguments inlined; the second one matches 43 opcodes of the first.
    const INLINED: &str = "0e000a0601f80108000928062803280527072709280b280d280a27092525252525252525250a000401260a260c2709260e26\
                           10012c000207260a260c26122525261225252525250a0604052614260c2709260e2610016c0604082614260c2709260e2610\
                           260c2616252525252618260e261a270926180e760a065801ae0106040838261c2e261e2e261c0e";

    fn frames(types: [usize; 2], hex: &str, index: usize) -> Option<Vec<(usize, Option<usize>)>> {
        let bytes: Vec<u8> =
            (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect();
        let read = Kernel { pid: std::process::id() };
        let place = (bytes.as_ptr() as usize, bytes.len());
        let mut translation = Translation::new(read, place, Opcodes::of(types).unwrap(), index)?;
        let mut frames = Vec::new();
        while let Some(frame) = translation.next()? {
            frames.push((frame.literal, frame.offset));
        }
        Some(frames)
    }

    #[test]
    fn frames_are_read_from_the_outermost_in() {
        assert_eq!(frames(V13, INLINED, 0), Some(vec![(4, Some(124)), (0, Some(22)), (3, Some(54))]));
        assert_eq!(frames(V13, "0e000202012a02000926042803", 0), Some(vec![(1, Some(21))]));
        assert_eq!(frames(V12, "0c000202010c02082306230323", 0), Some(vec![(1, Some(6))]));
    }

    #[test]
    fn what_the_translation_before_has_is_matched() {
        assert_eq!(frames(V13, INLINED, 118), Some(vec![(4, Some(124)), (0, Some(22)), (3, Some(87))]));
    }

    /// BEGIN, a frame before its first bytecode, one of a builtin function, one with a value that it returns.
    #[test]
    fn frames_of_builtin_functions_are_left_out() {
        let found = frames(V13, "0e0006060101020008022c04060004020006000002", 0);
        assert_eq!(found, Some(vec![(1, None), (1, Some(2))]));
    }

    #[test]
    fn what_is_no_translation_is_refused() {
        assert_eq!(frames(V13, INLINED, 1), None);
        assert_eq!(frames(V13, "0e00040401", 0), None);
        assert_eq!(frames(V13, "0e0504040102020202", 0), None);
        assert_eq!(frames(V13, "0e000404012a0200090e000404", 0), None);
        assert_eq!(Opcodes::of([1, 2]), None);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_end(mut bytes: Vec<u8>, index: u8) {
            bytes.insert(0, 14);
            let read = Kernel { pid: std::process::id() };
            let place = (bytes.as_ptr() as usize, bytes.len());
            let opcodes = Opcodes::of(V13).unwrap();
            if let Some(mut translation) = Translation::new(read, place, opcodes, usize::from(index % 4)) {
                let mut frames = 0;
                while let Some(Some(_)) = translation.next() {
                    frames += 1;
                }
                assert!(frames <= 2 * bytes.len());
            }
        }
    }
}
