//! DWARF expressions: a stack machine over registers and memory, with as many operators as compilers,
//! linkers and hand-written assembly use in `.eh_frame`.
//!
//! What it refuses: more than `STEPS_MAX` operators (a branch may lead back), more than `DEPTH` values,
//! and operators that name other places than a value (typed, thread-local, composite).

use super::reader::Reader;
use heapscribe_nolibc::loader::Segment;

/// Operators run: glibc's longest expression has 12.
const STEPS_MAX: usize = 512;
/// Values on the stack at once.
const DEPTH: usize = 32;

/// What an expression can ask for.
pub trait Inputs {
    /// The value of a register by its DWARF number; none when it is not known.
    fn register(&self, number: u64) -> Option<u64>;
    /// `size` bytes of memory (1, 2, 4 or 8) as a number; none where they must not be read.
    fn read(&self, address: u64, size: usize) -> Option<u64>;
}

/// Why an expression has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// It needs a register that is not known.
    UnknownRegister,
    /// It reads where it must not.
    OutOfBounds,
    /// It makes no sense, runs for too long, or uses what is refused.
    Nonsense,
}

type Result<T> = core::result::Result<T, Failure>;

/// The value of the expression in `bytes`, which starts with `initial` on its stack: the CFA for registers,
/// nothing for the CFA itself.
#[inline(never)]
pub fn evaluate<I: Inputs>(bytes: &[u8], inputs: &I, initial: Option<u64>) -> Result<u64> {
    let reader = Reader::new(&Segment { bytes, address: 0 }, 0).ok_or(Failure::Nonsense)?;
    let mut machine = Machine { whole: reader.clone(), reader, inputs, stack: [0; DEPTH], depth: 0 };
    if let Some(value) = initial {
        machine.push(value)?;
    }
    for _ in 0..STEPS_MAX {
        if machine.reader.remaining() == 0 {
            return machine.pop();
        }
        machine.step()?;
    }
    Err(Failure::Nonsense)
}

struct Machine<'a, I> {
    whole: Reader<'a>,
    reader: Reader<'a>,
    inputs: &'a I,
    stack: [u64; DEPTH],
    depth: usize,
}

impl<'a, I: Inputs> Machine<'a, I> {
    fn push(&mut self, value: u64) -> Result<()> {
        *self.stack.get_mut(self.depth).ok_or(Failure::Nonsense)? = value;
        self.depth += 1;
        Ok(())
    }

    fn pop(&mut self) -> Result<u64> {
        let value = self.pick(0)?;
        self.depth -= 1;
        Ok(value)
    }

    /// The value `below` the top.
    fn pick(&self, below: usize) -> Result<u64> {
        let index = self.depth.checked_sub(below + 1).ok_or(Failure::Nonsense)?;
        self.stack.get(index).copied().ok_or(Failure::Nonsense)
    }

    /// What stands behind the operator.
    fn operand<T>(&mut self, read: impl FnOnce(&mut Reader<'a>) -> Option<T>) -> Result<T> {
        read(&mut self.reader).ok_or(Failure::Nonsense)
    }

    fn step(&mut self) -> Result<()> {
        match self.operand(Reader::u8)? {
            0x06 => self.dereference(8),
            0x94 => {
                let size = self.operand(Reader::u8)?;
                self.dereference(usize::from(size))
            }
            operator @ (0x03 | 0x08..=0x11) => {
                let value = self.operand(|reader| constant(operator, reader))?;
                self.push(value)
            }
            operator @ 0x12..=0x17 => self.shuffle(operator),
            operator @ (0x19 | 0x1f | 0x20 | 0x23) => self.unary(operator),
            operator @ (0x1a..=0x1e | 0x21 | 0x22 | 0x24..=0x27 | 0x29..=0x2e) => self.binary(operator),
            operator @ (0x28 | 0x2f) => self.branch(operator),
            literal @ 0x30..=0x4f => self.push(u64::from(literal - 0x30)),
            operator @ 0x70..=0x8f => self.based(u64::from(operator - 0x70)),
            0x92 => {
                let register = self.operand(Reader::unsigned)?;
                self.based(register)
            }
            0x96 => Ok(()),
            _ => Err(Failure::Nonsense),
        }
    }

    /// A register + offset.
    fn based(&mut self, register: u64) -> Result<()> {
        let offset = self.operand(Reader::signed)?;
        let value = self.inputs.register(register).ok_or(Failure::UnknownRegister)?;
        self.push(value.wrapping_add_signed(offset))
    }

    fn dereference(&mut self, size: usize) -> Result<()> {
        let address = self.pop()?;
        if !matches!(size, 1 | 2 | 4 | 8) {
            return Err(Failure::Nonsense);
        }
        let value = self.inputs.read(address, size).ok_or(Failure::OutOfBounds)?;
        self.push(value)
    }

    /// dup, drop, over, pick, swap, rot.
    fn shuffle(&mut self, operator: u8) -> Result<()> {
        match operator {
            0x12 => self.push(self.pick(0)?),
            0x13 => self.pop().map(drop),
            0x14 => self.push(self.pick(1)?),
            0x15 => {
                let below = self.operand(Reader::u8)?;
                self.push(self.pick(usize::from(below))?)
            }
            0x16 => {
                let (top, second) = (self.pop()?, self.pop()?);
                self.push(top)?;
                self.push(second)
            }
            _ => {
                let (top, second, third) = (self.pop()?, self.pop()?, self.pop()?);
                self.push(top)?;
                self.push(third)?;
                self.push(second)
            }
        }
    }

    /// abs, neg, not, plus_uconst.
    fn unary(&mut self, operator: u8) -> Result<()> {
        let value = self.pop()?;
        let result = match operator {
            0x19 => (value as i64).wrapping_abs() as u64,
            0x1f => value.wrapping_neg(),
            0x20 => !value,
            _ => value.wrapping_add(self.operand(Reader::unsigned)?),
        };
        self.push(result)
    }

    fn binary(&mut self, operator: u8) -> Result<()> {
        let (right, left) = (self.pop()?, self.pop()?);
        self.push(combine(operator, left, right).ok_or(Failure::Nonsense)?)
    }

    /// bra, skip.
    fn branch(&mut self, operator: u8) -> Result<()> {
        const BRA: u8 = 0x28;
        let distance = self.operand(Reader::u16)? as i16;
        if operator == BRA && self.pop()? == 0 {
            return Ok(());
        }
        let target = self.reader.address().checked_add_signed(isize::from(distance));
        let mut reader = self.whole.clone();
        target.and_then(|target| reader.skip(target)).ok_or(Failure::Nonsense)?;
        self.reader = reader;
        Ok(())
    }
}

/// addr, const1u ..= const8s, constu, consts.
fn constant(operator: u8, reader: &mut Reader<'_>) -> Option<u64> {
    match operator {
        0x08 => reader.u8().map(u64::from),
        0x09 => reader.u8().map(|n| n as i8 as u64),
        0x0a => reader.u16().map(u64::from),
        0x0b => reader.u16().map(|n| n as i16 as u64),
        0x0c => reader.u32().map(u64::from),
        0x0d => reader.u32().map(|n| n as i32 as u64),
        0x10 => reader.unsigned(),
        0x11 => reader.signed().map(|n| n as u64),
        _ => reader.u64(),
    }
}

/// Comparisons, the quotient and the last shift are of signed numbers; none for a division by zero.
fn combine(operator: u8, left: u64, right: u64) -> Option<u64> {
    let (signed_left, signed_right) = (left as i64, right as i64);
    let shift = u32::try_from(right).unwrap_or(u32::MAX);
    Some(match operator {
        0x1a => left & right,
        0x1b if right == 0 => return None,
        0x1b => signed_left.wrapping_div(signed_right) as u64,
        0x1c => left.wrapping_sub(right),
        0x1d => left.checked_rem(right)?,
        0x1e => left.wrapping_mul(right),
        0x21 => left | right,
        0x22 => left.wrapping_add(right),
        0x24 => left.checked_shl(shift).unwrap_or(0),
        0x25 => left.checked_shr(shift).unwrap_or(0),
        0x26 => (signed_left >> shift.min(63)) as u64,
        0x27 => left ^ right,
        0x29 => u64::from(signed_left == signed_right),
        0x2a => u64::from(signed_left >= signed_right),
        0x2b => u64::from(signed_left > signed_right),
        0x2c => u64::from(signed_left <= signed_right),
        0x2d => u64::from(signed_left < signed_right),
        _ => u64::from(signed_left != signed_right),
    })
}
