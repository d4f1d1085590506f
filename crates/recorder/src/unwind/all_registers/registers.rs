//! The general registers of a frame, by their DWARF numbers, and which of them are known.
#![allow(unsafe_code)]

use crate::unwind::cfi::COLUMNS;
use crate::unwind::frame::Registers;

/// DWARF's number of rbp.
pub(super) const BP: usize = 6;
/// DWARF's number of rsp.
pub(super) const SP: usize = 7;
/// DWARF's number of the return address.
pub(super) const PC: usize = 16;

/// rbx, rbp, r12, r13, r14, r15: a function whose table has nothing about them has left them alone. Others that
/// it has nothing about, it may have used.
const CALLEE_SAVED: u32 = 1 << 3 | 1 << BP | 0xf << 12;

/// All general registers and the program counter.
///
/// | number | 0   | 1   | 2   | 3   | 4   | 5   | 6   | 7   | 8..16     | 16  |
/// |--------|-----|-----|-----|-----|-----|-----|-----|-----|-----------|-----|
/// | is     | rax | rdx | rcx | rbx | rsi | rdi | rbp | rsp | r8 .. r15 | rip |
///
/// rip, rsp and rbp are always known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AllRegisters {
    values: [usize; COLUMNS],
    known: u32,
}

impl AllRegisters {
    /// Only the three that every walk follows are known.
    pub const fn only(three: Registers) -> AllRegisters {
        let mut values = [0; COLUMNS];
        (values[PC], values[SP], values[BP]) = (three.pc, three.sp, three.bp);
        AllRegisters { values, known: 1 << PC | 1 << SP | 1 << BP }
    }

    /// The three that every walk follows.
    pub const fn three(&self) -> Registers {
        Registers { pc: self.values[PC], sp: self.values[SP], bp: self.values[BP] }
    }

    /// The value of a register; none when it is not known, or there is none of this number.
    pub fn get(&self, number: usize) -> Option<usize> {
        let value = self.values.get(number).copied()?;
        (self.known >> number & 1 != 0).then_some(value)
    }

    /// Sets a register, or makes it unknown.
    pub fn set(&mut self, number: usize, value: Option<usize>) {
        let Some(place) = self.values.get_mut(number) else { return };
        *place = value.unwrap_or(0);
        self.known = self.known & !(1 << number) | u32::from(value.is_some()) << number;
    }

    /// What a caller finds in a register that its callee's table has nothing about.
    pub(super) fn preserved(&self, number: usize) -> Option<usize> {
        self.get(number).filter(|_| CALLEE_SAVED >> number & 1 != 0)
    }

    /// Those of the function that calls this: the ones that calls keep, as they are behind the call.
    #[inline(always)]
    pub(super) fn of_this_function() -> AllRegisters {
        let mut values = [0; COLUMNS];
        // SAFETY: room for all registers.
        unsafe { store_preserved(&mut values) };
        AllRegisters { values, known: CALLEE_SAVED | 1 << SP | 1 << PC }
    }
}

/// Stores the registers that calls keep, as its caller has them when it returns.
///
/// # Safety
/// * It is called, not jumped to.
#[unsafe(naked)]
unsafe extern "C" fn store_preserved(into: &mut [usize; COLUMNS]) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "mov [rdi + 3 * 8], rbx",
        "mov [rdi + 6 * 8], rbp",
        "mov [rdi + 12 * 8], r12",
        "mov [rdi + 13 * 8], r13",
        "mov [rdi + 14 * 8], r14",
        "mov [rdi + 15 * 8], r15",
        "lea rax, [rsp + 8]",
        "mov [rdi + 7 * 8], rax",
        "mov rax, [rsp]",
        "mov [rdi + 16 * 8], rax",
        "ret",
        ".cfi_endproc",
    )
}

const _: () = assert!(SP == 7 && PC == 16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_has_no_value() {
        let mut registers = AllRegisters::only(Registers { pc: 1, sp: 2, bp: 3 });
        assert_eq!([PC, SP, BP].map(|n| registers.get(n)), [Some(1), Some(2), Some(3)]);
        assert_eq!((registers.get(3), registers.get(COLUMNS), registers.get(usize::MAX)), (None, None, None));
        registers.set(0, Some(7));
        assert_eq!((registers.get(0), registers.preserved(0)), (Some(7), None));
        registers.set(12, Some(8));
        assert_eq!(registers.preserved(12), Some(8));
        registers.set(12, None);
        assert_eq!(registers.get(12), None);
        registers.set(COLUMNS, Some(9));
        assert_eq!(registers.three(), Registers { pc: 1, sp: 2, bp: 3 });
    }

    #[test]
    fn of_this_function_is_where_it_is() {
        let local = 0usize;
        let registers = AllRegisters::of_this_function();
        let here = of_this_function_is_where_it_is as *const () as usize;
        let sp = registers.three().sp;
        assert!(sp <= &raw const local as usize && &raw const local as usize - sp < 4096);
        assert!(registers.three().pc.abs_diff(here) < 1 << 20);
        assert_eq!(registers.get(0), None);
    }
}
