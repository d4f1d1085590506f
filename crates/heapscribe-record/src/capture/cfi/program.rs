//! The call frame program: instructions that change a row as the code address advances, run until the row
//! of one address is complete.

use super::entry::{CommonEntry, FrameEntry};
use super::expression;
use super::reader::Reader;
use super::row::{Cfa, Row, Saved};
use crate::capture::rule::Rule;

/// Compilers nest one deep, hand-written assembly two.
const REMEMBERED: usize = 8;

/// The rule at `pc`, which the entry covers. None for a program that makes no sense.
pub(super) fn rule(entry: &FrameEntry<'_>, pc: usize) -> Option<Rule> {
    let common = &entry.common;
    if common.is_signal_frame {
        return Some(Rule::SIGNAL);
    }
    let mut machine = Machine::new(common, pc);
    machine.run(common.program.clone())?;
    machine.initial = machine.row;
    machine.location = entry.start;
    machine.run(entry.program.clone())?;
    Some(machine.row.rule())
}

struct Machine<'a> {
    common: &'a CommonEntry<'a>,
    pc: usize,
    location: usize,
    row: Row,
    initial: Row,
    remembered: [Row; REMEMBERED],
    depth: usize,
}

impl<'a> Machine<'a> {
    fn new(common: &'a CommonEntry<'a>, pc: usize) -> Machine<'a> {
        let remembered = [Row::EMPTY; REMEMBERED];
        Machine { common, pc, location: 0, row: Row::EMPTY, initial: Row::EMPTY, remembered, depth: 0 }
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
                    self.set(low, Saved::AtCfa(offset));
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
            0x0c => self.row.cfa = Cfa::new(program.unsigned()?, plain(program.unsigned()?)?),
            0x0d => self.row.cfa = self.row.cfa.with_register(program.unsigned()?)?,
            0x0e => self.row.cfa = self.row.cfa.with_offset(plain(program.unsigned()?)?)?,
            0x0f => self.row.cfa = expression::cfa(&block(program)?, self.pc),
            0x12 => self.row.cfa = Cfa::new(program.unsigned()?, self.scaled_signed(program.signed()?)?),
            _ => self.row.cfa = self.row.cfa.with_offset(self.scaled_signed(program.signed()?)?)?,
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
            0x09 => program.unsigned().map(|_| Saved::Other)?,
            0x10 => expression::offset_from_bp(block(program)?).map_or(Saved::Other, Saved::AtBp),
            0x11 => Saved::AtCfa(self.scaled_signed(program.signed()?)?),
            0x14 => value(self.scaled(program.unsigned()?)?),
            0x15 => value(self.scaled_signed(program.signed()?)?),
            0x16 => block(program).map(|_| Saved::Other)?,
            0x2e => return Some(()), // the size of pushed arguments: for landing pads only
            0x2f => Saved::AtCfa(self.scaled(program.unsigned()?)?.checked_neg()?),
            _ => return None,
        };
        self.set(register, saved);
        Some(())
    }

    fn restore(&mut self, register: u64) {
        let initial = match register {
            Row::BP => self.initial.bp,
            Row::SP => self.initial.sp,
            _ => self.initial.return_address,
        };
        self.set(register, initial);
    }

    fn set(&mut self, register: u64, saved: Saved) {
        match register {
            Row::BP => self.row.bp = saved,
            Row::SP => self.row.sp = saved,
            r if r == self.common.return_register => self.row.return_address = saved,
            _ => {}
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

/// A register whose value is CFA + `offset`.
fn value(offset: i64) -> Saved {
    if offset == 0 { Saved::IsCfa } else { Saved::Other }
}

/// An expression: its length, then its bytes.
fn block<'a>(program: &mut Reader<'a>) -> Option<Reader<'a>> {
    let length = usize::try_from(program.unsigned()?).ok()?;
    program.split(length)
}
