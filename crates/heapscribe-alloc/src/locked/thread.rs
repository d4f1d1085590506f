//! The kernel's number of the thread that runs, which a lock with priority inheritance has to hold. Asking
//! takes a system call, so each thread keeps it, in a word of its own that is reached without a call (a
//! `thread_local!` in a shared library may call `malloc`: agnocast #1325).
#![allow(unsafe_code)]

use core::cell::Cell;

use super::sys;

core::arch::global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    ".globl heapscribe_alloc_thread",
    ".hidden heapscribe_alloc_thread",
    ".type heapscribe_alloc_thread,@object",
    ".size heapscribe_alloc_thread,8",
    "heapscribe_alloc_thread:",
    ".zero 8",
    ".previous",
);

#[inline(always)]
fn word() -> &'static Cell<u32> {
    let address: *const Cell<u32>;
    // SAFETY: the symbol's offset from the thread pointer, added to the thread pointer, which fs:0 holds
    // itself. The word lives as long as the thread, and only this thread has its address.
    unsafe {
        core::arch::asm!("mov {0}, qword ptr [rip + heapscribe_alloc_thread@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]", out(reg) address, options(pure, nomem, nostack));
        &*address
    }
}

/// The number, never 0.
#[inline(always)]
pub(super) fn id() -> u32 {
    match word().get() {
        0 => ask(),
        id => id,
    }
}

#[cold]
fn ask() -> u32 {
    word().set(sys::thread_id());
    word().get()
}

/// In a forked child, whose only thread has another number than the one it is a copy of.
pub(super) fn forget() {
    word().set(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own() {
        let here = id();
        assert_eq!((here, id()), (sys::thread_id(), here));
        assert_ne!(std::thread::spawn(id).join().unwrap(), here);
    }
}
