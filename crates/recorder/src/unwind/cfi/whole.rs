//! A row with all its registers, for walks that a packed rule cannot lead.
//!
//! A machine keeps six rows at once, on the stack of the program that called `malloc`; so what is
//! known of a register takes 8 bytes, and an expression is only the place of its bytes.

use super::cfa::RETURN;
use super::reader::{Block, Reader};
use super::row::{Row, Saved};
use heapscribe_nolibc::loader::Segment;

/// The general registers by their DWARF numbers, and the return address as the last one.
pub const COLUMNS: usize = RETURN as usize + 1;

/// A DWARF expression of a segment.
///
/// | bits  | field                                                                              |
/// |-------|------------------------------------------------------------------------------------|
/// | 0..32 | low half of the address of its length; segments are smaller than 4 GiB            |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expression(u32);

impl Expression {
    fn new(block: &Block<'_>) -> Expression {
        Expression(block.address as u32)
    }

    /// Its bytes, in the segment that its row was read from.
    pub fn bytes<'a>(&self, segment: &Segment<'a>) -> Option<&'a [u8]> {
        let offset = self.0.wrapping_sub(segment.address as u32);
        let mut reader = Reader::new(segment, segment.address.checked_add(offset as usize)?)?;
        Some(reader.block()?.reader.bytes())
    }
}

/// Where the caller's value of a register is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegisterRule {
    /// No instruction was about it.
    Unspecified,
    /// In the register still.
    Same,
    /// Nowhere.
    Undefined,
    /// At CFA + offset.
    AtCfa(i32),
    /// It is CFA + offset.
    IsCfa(i32),
    /// In another register.
    Register(u8),
    /// At the address that an expression gives.
    At(Expression),
    /// It is what an expression gives.
    Is(Expression),
}

/// How the CFA is had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CfaRule {
    /// No instruction was about it.
    Unspecified,
    /// A register + offset.
    Register(u8, i32),
    /// It is what an expression gives.
    Is(Expression),
}

const _: () = assert!(size_of::<RegisterRule>() == 8);
const _: () = assert!(size_of::<WholeRow>() <= 152);

/// What is known at one address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WholeRow {
    /// The CFA.
    pub cfa: CfaRule,
    registers: [RegisterRule; COLUMNS],
}

impl WholeRow {
    /// Where the caller's value of a register is.
    pub fn register(&self, column: usize) -> RegisterRule {
        self.registers.get(column).copied().unwrap_or(RegisterRule::Unspecified)
    }

    fn place(&mut self, column: u64) -> Option<&mut RegisterRule> {
        self.registers.get_mut(usize::try_from(column).ok()?)
    }
}

fn short(offset: i64) -> Option<i32> {
    i32::try_from(offset).ok()
}

fn number(register: u64) -> Option<u8> {
    u8::try_from(register).ok()
}

impl Row for WholeRow {
    const EMPTY: WholeRow =
        WholeRow { cfa: CfaRule::Unspecified, registers: [RegisterRule::Unspecified; COLUMNS] };

    fn set_cfa(&mut self, register: u64, offset: i64) -> Option<()> {
        self.cfa = CfaRule::Register(number(register)?, short(offset)?);
        Some(())
    }

    fn set_cfa_register(&mut self, register: u64) -> Option<()> {
        let CfaRule::Register(_, offset) = self.cfa else { return None };
        self.cfa = CfaRule::Register(number(register)?, offset);
        Some(())
    }

    fn set_cfa_offset(&mut self, offset: i64) -> Option<()> {
        let CfaRule::Register(register, _) = self.cfa else { return None };
        self.cfa = CfaRule::Register(register, short(offset)?);
        Some(())
    }

    fn set_cfa_expression(&mut self, block: &Block<'_>, _pc: usize) {
        self.cfa = CfaRule::Is(Expression::new(block));
    }

    fn set(&mut self, column: u64, saved: Saved<'_>) -> Option<()> {
        let rule = match saved {
            Saved::Same => RegisterRule::Same,
            Saved::Undefined => RegisterRule::Undefined,
            Saved::AtCfa(offset) => RegisterRule::AtCfa(short(offset)?),
            Saved::IsCfa(offset) => RegisterRule::IsCfa(short(offset)?),
            Saved::Register(other) => RegisterRule::Register(number(other)?),
            Saved::At(block) => RegisterRule::At(Expression::new(&block)),
            Saved::Is(block) => RegisterRule::Is(Expression::new(&block)),
        };
        if let Some(place) = self.place(column) {
            *place = rule; // vector registers are not followed
        }
        Some(())
    }

    fn restore(&mut self, column: u64, initial: &WholeRow) {
        let rule = initial.registers.get(usize::try_from(column).unwrap_or(COLUMNS)).copied();
        if let (Some(place), Some(rule)) = (self.place(column), rule) {
            *place = rule;
        }
    }
}
