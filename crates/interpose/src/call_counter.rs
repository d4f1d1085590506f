//! Which calls publish the heap's statistics: a byte of each thread, counted up with each call, so that no two
//! threads write the same memory. Reached without a call, as in the recorder: `thread_local!` of a shared library
//! may allocate.
#![allow(unsafe_code)]

use core::cell::Cell;

core::arch::global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".globl heapscribe_heap_calls",
    ".hidden heapscribe_heap_calls",
    ".type heapscribe_heap_calls,@object",
    ".size heapscribe_heap_calls,1",
    "heapscribe_heap_calls:",
    ".zero 1",
    ".previous",
);

#[inline(always)]
fn calls() -> &'static Cell<u8> {
    let address: *const Cell<u8>;
    // SAFETY: the symbol's offset from the thread pointer, added to the thread pointer, which fs:0 holds
    // itself. The byte lives as long as the thread, and only this thread has its address.
    unsafe {
        core::arch::asm!("mov {0}, qword ptr [rip + heapscribe_heap_calls@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]", out(reg) address, options(pure, nomem, nostack));
        &*address
    }
}

/// Counts a call of this thread; true for each 256th.
#[inline(always)]
pub(crate) fn count() -> bool {
    let calls = calls();
    calls.set(calls.get().wrapping_add(1));
    calls.get() == 0
}

/// Makes the next call of this thread a 256th.
pub(crate) fn make_next_due() {
    calls().set(u8::MAX);
}
