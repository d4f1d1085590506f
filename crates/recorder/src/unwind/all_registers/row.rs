//! From a frame to its caller by all of the frame's row.
#![allow(unsafe_code)]

use super::registers::{AllRegisters, BP, PC, SP};
use crate::unwind::cfi::evaluate::{Failure, Inputs, evaluate};
use crate::unwind::cfi::{CfaRule, Expression, RegisterRule, WholeRow};
use crate::unwind::frame::End;
use crate::unwind::step::State;
use heapscribe_nolibc::loader::Segment;

/// A frame while its row is followed.
pub(super) struct Following<'a> {
    pub(super) registers: &'a AllRegisters,
    pub(super) state: State,
    /// What the row was read from: its expressions are there.
    pub(super) segment: Segment<'a>,
    pub(super) row: WholeRow,
}

impl Inputs for Following<'_> {
    fn register(&self, number: u64) -> Option<u64> {
        self.registers.get(usize::try_from(number).ok()?).map(|value| value as u64)
    }

    fn read(&self, address: u64, size: usize) -> Option<u64> {
        let address = address as usize;
        // SAFETY: `holds` says that these bytes are of the stack, and may be read.
        self.state.holds(address, size).then(|| unsafe {
            match size {
                1 => u64::from((address as *const u8).read()),
                2 => u64::from((address as *const u16).read_unaligned()),
                4 => u64::from((address as *const u32).read_unaligned()),
                _ => (address as *const u64).read_unaligned(),
            }
        })
    }
}

fn end(failure: Failure) -> End {
    match failure {
        Failure::OutOfBounds => End::OutOfBounds,
        Failure::UnknownRegister | Failure::Nonsense => End::OtherRule,
    }
}

impl Following<'_> {
    /// The registers of the caller.
    pub(super) fn caller(&self) -> Result<AllRegisters, End> {
        let cfa = self.cfa()?;
        let bp = match self.row.register(BP) {
            // As packed rules have it: there is no better value, and no caller asks for it.
            RegisterRule::Undefined => self.registers.get(BP),
            _ => self.value(BP, cfa)?,
        };
        let sp = match self.row.register(SP) {
            RegisterRule::Unspecified | RegisterRule::Same | RegisterRule::Undefined => Some(cfa),
            _ => self.value(SP, cfa)?,
        };
        let mut caller = *self.registers;
        for number in (0..PC).filter(|&number| number != BP && number != SP) {
            // One that was saved where nothing may be read is unknown, which matters only to who needs it.
            caller.set(number, self.value(number, cfa).unwrap_or(None));
        }
        let pc = self.return_address(cfa)?;
        for (number, value) in [(BP, bp), (SP, sp), (PC, pc)] {
            caller.set(number, Some(value.ok_or(End::OtherRule)?));
        }
        self.check(cfa, &caller).map(|()| caller)
    }

    /// Where the caller's value of a register was saved.
    pub(super) fn saved_at(&self, number: usize) -> Option<usize> {
        match self.row.register(number) {
            RegisterRule::AtCfa(offset) => Some(self.cfa().ok()?.wrapping_add_signed(offset as isize)),
            _ => None,
        }
    }

    fn cfa(&self) -> Result<usize, End> {
        match self.row.cfa {
            CfaRule::Unspecified => Err(End::OtherRule),
            CfaRule::Register(register, offset) => {
                let base = self.registers.get(usize::from(register)).ok_or(End::OtherRule)?;
                Ok(base.wrapping_add_signed(offset as isize))
            }
            CfaRule::Is(expression) => self.evaluate(expression, None),
        }
    }

    fn evaluate(&self, expression: Expression, cfa: Option<usize>) -> Result<usize, End> {
        let bytes = expression.bytes(&self.segment).ok_or(End::OtherRule)?;
        evaluate(bytes, self, cfa.map(|cfa| cfa as u64)).map(|value| value as usize).map_err(end)
    }

    fn word(&self, address: usize) -> Result<Option<usize>, End> {
        self.read(address as u64, 8).map(|word| Some(word as usize)).ok_or(End::OutOfBounds)
    }

    /// The caller's value of a register; none when it is unknown.
    fn value(&self, number: usize, cfa: usize) -> Result<Option<usize>, End> {
        match self.row.register(number) {
            RegisterRule::Unspecified => Ok(self.registers.preserved(number)),
            RegisterRule::Same => Ok(self.registers.get(number)),
            RegisterRule::Undefined => Ok(None),
            RegisterRule::AtCfa(offset) => self.word(cfa.wrapping_add_signed(offset as isize)),
            RegisterRule::IsCfa(offset) => Ok(Some(cfa.wrapping_add_signed(offset as isize))),
            RegisterRule::Register(other) => Ok(self.registers.get(usize::from(other))),
            RegisterRule::At(expression) => self.word(self.evaluate(expression, Some(cfa))?),
            RegisterRule::Is(expression) => self.evaluate(expression, Some(cfa)).map(Some),
        }
    }

    /// One that a call pushed is never below the stack pointer, not even in an interrupted function.
    fn return_address(&self, cfa: usize) -> Result<Option<usize>, End> {
        match self.row.register(PC) {
            RegisterRule::Undefined => Err(End::Complete),
            RegisterRule::Unspecified | RegisterRule::Same => Err(End::OtherRule),
            RegisterRule::AtCfa(offset) if cfa.wrapping_add_signed(offset as isize) < self.state.here.sp => {
                Err(End::OutOfBounds)
            }
            _ => self.value(PC, cfa),
        }
    }

    /// A caller is further out on the same stack. One that stays where its callee is - the return address
    /// was popped into a register - is at least other code.
    fn check(&self, cfa: usize, caller: &AllRegisters) -> Result<(), End> {
        let (here, there) = (self.state.here, caller.three());
        let is_outward = there.sp > here.sp || there.sp == here.sp && there.pc != here.pc;
        let is_inside = there.sp <= self.state.place.stack.hi;
        if is_outward && is_inside && cfa.is_multiple_of(8) { Ok(()) } else { Err(End::OutOfBounds) }
    }
}
