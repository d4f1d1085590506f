//! The program gives up rights: a filter of its system calls, or the clock. What would end it then is not done any
//! more. Of system calls those fail that the filter kills for, and what needs them is dropped and counted; without the
//! clock nothing is recorded. A filter that is installed by a system call of the program's own is not seen.
#![allow(unsafe_code)]

use heapscribe_nolibc::seccomp::{Instruction, forbidden_by};
use heapscribe_nolibc::sys::{self, CallSet};

use crate::state::{self, hook_flags};

/// What the program is about to give up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sandbox {
    /// Calls that a filter of `struct sock_fprog` at this address does not let pass.
    Filter(usize),
    /// All system calls but reading, writing and ending, and the clock with them: seccomp's strict mode.
    Strict,
    /// The time stamp counter.
    Clock,
}

/// What was done before that, should the program fail to give it up.
#[derive(Debug)]
pub struct Before {
    forbidden: CallSet,
    sandbox: Sandbox,
}

/// Prepares for it.
///
/// # Safety
/// * A filter's address is what the program gives to the kernel.
pub unsafe fn enter_sandbox(sandbox: Sandbox) -> Before {
    let set = match sandbox {
        // SAFETY: the address is what the program gives to the kernel.
        Sandbox::Filter(address) => unsafe { filter(address) }.map(forbidden_by).unwrap_or_default(),
        Sandbox::Strict => CallSet::all(),
        Sandbox::Clock => CallSet::default(),
    };
    if !matches!(sandbox, Sandbox::Filter(_)) && state::stop() {
        hook_flags::settle(None, false); // the time stamp counter is not to be read
    }
    Before { forbidden: sys::forbid(set), sandbox }
}

/// The program could not give it up, and goes on as before.
pub fn leave_sandbox(before: &Before) {
    sys::permit(before.forbidden);
    if !matches!(before.sandbox, Sandbox::Filter(_)) {
        state::go_on();
        if let Some(session) = state::current() {
            hook_flags::settle(session.log.timed_by(), !session.rules.is_empty());
        }
    }
}

/// The instructions of a filter; `None` when they are not readable, for which the kernel refuses them.
///
/// # Safety
/// * The address is what the program gives to the kernel: what it leads to is a filter or not readable.
unsafe fn filter(address: usize) -> Option<&'static [Instruction]> {
    const LONGEST: usize = 4096;
    /// `struct sock_fprog`.
    #[repr(C)]
    struct Program {
        len: u16,
        instructions: usize,
    }
    if !sys::is_readable(address) || !sys::is_readable(address.wrapping_add(8)) {
        return None;
    }
    // SAFETY: readable.
    let Program { len, instructions } = unsafe { core::ptr::read_unaligned(address as *const Program) };
    let len = usize::from(len);
    let is_whole =
        (0..len).all(|i| sys::is_readable(instructions.wrapping_add(i * size_of::<Instruction>())));
    let is_aligned = instructions.is_multiple_of(align_of::<Instruction>());
    // SAFETY: readable, and aligned; the program leaves it alone until the kernel has taken it.
    (len > 0 && len <= LONGEST && is_whole && is_aligned)
        .then(|| unsafe { core::slice::from_raw_parts(instructions as *const Instruction, len) })
}
