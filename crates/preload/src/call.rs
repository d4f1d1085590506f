//! A call of a hook, as its bodies pass it on: what is asked for, and by whom.
#![allow(unsafe_code)]

use core::ffi::c_void;

use heapscribe_recorder::Call;
use heapscribe_recorder::unwind::Registers;

pub(crate) type Pointer = *mut c_void;

/// What is asked for: by which function, how large, how aligned (0 when the function takes no alignment).
#[derive(Clone, Copy)]
pub(crate) struct AllocRequest {
    pub(crate) call: Call,
    pub(crate) size: usize,
    pub(crate) align: usize,
}

/// The registers of the hook's caller: its return address is on top of the stack.
///
/// # Safety
/// * `sp` is the stack pointer at the entry of the hook.
#[inline(always)]
pub(crate) unsafe fn caller(sp: *const usize, bp: usize) -> Registers {
    // SAFETY: `sp` is the stack pointer at the entry: the call pushed the return address there.
    Registers { pc: unsafe { *sp }, sp: sp as usize + 8, bp }
}
