//! The call frame program: instructions that change a row as the code address advances, run until the row
//! of one address is complete.

use super::cfa::{BP, RETURN, SP};
use super::entry::{CommonEntry, FrameEntry};
use super::reader::Reader;
use super::row::{Row, Saved};

/// Compilers nest one deep, hand-written assembly two.
const REMEMBERED: usize = 4;

/// The row at `pc`. None when the entry is not about it, or its program makes no sense.
#[inline]
pub(super) fn row<R: Row>(entry: &FrameEntry<'_>, pc: usize) -> Option<R> {
    if !entry.covers(pc) {
        return None;
    }
    let common = &entry.common;
    let mut machine = Machine::<R>::new(common, pc);
    machine.run(common.program.clone())?;
    machine.initial = machine.row;
    machine.location = entry.start;
    machine.run(entry.program.clone())?;
    Some(machine.row)
}

struct Machine<'a, R> {
    common: &'a CommonEntry<'a>,
    pc: usize,
    location: usize,
    row: R,
    initial: R,
    remembered: [R; REMEMBERED],
    depth: usize,
}

impl<'a, R: Row> Machine<'a, R> {
    fn new(common: &'a CommonEntry<'a>, pc: usize) -> Machine<'a, R> {
        let remembered = [R::EMPTY; REMEMBERED];
        Machine { common, pc, location: 0, row: R::EMPTY, initial: R::EMPTY, remembered, depth: 0 }
    }

    /// Runs until the next row would start behind `pc`, or the end.
    fn run(&mut self, mut program: Reader<'_>) -> Option<()> {
        while program.remaining() != 0 {
            let opcode = program.u8()?;
            let low = u64::from(opcode & 0x3f);
            match opcode >> 6 {
                1 => self.advance(low)?,
                2 => {
                    let offset = self.scaled(program.unsigned()?)?;
                    self.set(low, Saved::AtCfa(offset))?;
                }
                3 => self.restore(low),
                _ if matches!(opcode, 0x0a..=0x0f | 0x12 | 0x13) => self.change_cfa(opcode, &mut program)?,
                _ if matches!(opcode, 0x01..=0x04 | 0x1d) => self.advance_long(opcode, &mut program)?,
                _ => self.change_register(opcode, &mut program)?,
            }
            if self.location > self.pc {
                break;
            }
        }
        Some(())
    }

    fn advance(&mut self, delta: u64) -> Option<()> {
        let bytes = delta.checked_mul(self.common.code_factor)?;
        self.location = self.location.checked_add(usize::try_from(bytes).ok()?)?;
        Some(())
    }

    fn advance_long(&mut self, opcode: u8, program: &mut Reader<'_>) -> Option<()> {
        match opcode {
            0x01 => {
                self.location = program.encoded(self.common.pointers)?;
                Some(())
            }
            0x02 => self.advance(u64::from(program.u8()?)),
            0x03 => self.advance(u64::from(program.u16()?)),
            0x04 => self.advance(u64::from(program.u32()?)),
            _ => self.advance(program.u64()?),
        }
    }

    /// The definitions of the CFA, and the memory of whole rows.
    fn change_cfa(&mut self, opcode: u8, program: &mut Reader<'_>) -> Option<()> {
        match opcode {
            0x0a => {
                *self.remembered.get_mut(self.depth)? = self.row;
                self.depth += 1;
            }
            0x0b => {
                self.depth = self.depth.checked_sub(1)?;
                self.row = *self.remembered.get(self.depth)?;
            }
            0x0c => self.row.set_cfa(program.unsigned()?, plain(program.unsigned()?)?)?,
            0x0d => self.row.set_cfa_register(program.unsigned()?)?,
            0x0e => self.row.set_cfa_offset(plain(program.unsigned()?)?)?,
            0x0f => self.row.set_cfa_expression(&program.block()?, self.pc),
            0x12 => self.row.set_cfa(program.unsigned()?, self.scaled_signed(program.signed()?)?)?,
            _ => self.row.set_cfa_offset(self.scaled_signed(program.signed()?)?)?,
        }
        Some(())
    }

    /// The rules of registers.
    fn change_register(&mut self, opcode: u8, program: &mut Reader<'_>) -> Option<()> {
        if opcode == 0 {
            return Some(());
        }
        let register = program.unsigned()?;
        let saved = match opcode {
            0x05 => Saved::AtCfa(self.scaled(program.unsigned()?)?),
            0x06 => {
                self.restore(register);
                return Some(());
            }
            0x07 => Saved::Undefined,
            0x08 => Saved::Same,
            0x09 => Saved::Register(program.unsigned()?),
            0x10 => Saved::At(program.block()?),
            0x11 => Saved::AtCfa(self.scaled_signed(program.signed()?)?),
            0x14 => Saved::IsCfa(self.scaled(program.unsigned()?)?),
            0x15 => Saved::IsCfa(self.scaled_signed(program.signed()?)?),
            0x16 => Saved::Is(program.block()?),
            0x2e => return Some(()), // the size of pushed arguments: for landing pads only
            0x2f => Saved::AtCfa(self.scaled(program.unsigned()?)?.checked_neg()?),
            _ => return None,
        };
        self.set(register, saved)
    }

    fn restore(&mut self, register: u64) {
        self.row.restore(self.column(register), &self.initial);
    }

    #[inline(always)]
    fn set(&mut self, register: u64, saved: Saved<'_>) -> Option<()> {
        self.row.set(self.column(register), saved)
    }

    /// A CIE may name another register for the return address than the usual column.
    fn column(&self, register: u64) -> u64 {
        const NONE: u64 = u64::MAX;
        match register {
            BP | SP => register,
            _ if register == self.common.return_register => RETURN,
            RETURN => NONE,
            _ => register,
        }
    }

    fn scaled(&self, factored: u64) -> Option<i64> {
        self.scaled_signed(plain(factored)?)
    }

    fn scaled_signed(&self, factored: i64) -> Option<i64> {
        factored.checked_mul(self.common.data_factor)
    }
}

fn plain(number: u64) -> Option<i64> {
    i64::try_from(number).ok()
}
