//! Calls that the heap makes of its own functions by name, as musl's does: they pass the interposed functions and are
//! not the program's. While a thread is in such a heap, none of its calls is logged.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering};

use heapscribe_alloc::system::SystemHeap;
use heapscribe_nolibc::loader::{Loader, Maker};

// A thread-local word that is reached without a call, as the recorder's.
core::arch::global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    ".globl heapscribe_inside",
    ".hidden heapscribe_inside",
    ".type heapscribe_inside,@object",
    ".size heapscribe_inside,8",
    "heapscribe_inside:",
    ".zero 8",
    ".previous",
);

static MAY_NEST: AtomicBool = AtomicBool::new(false);

/// Finds out whether the heap may call itself by name.
pub(super) fn find(loader: &Loader, heap: &SystemHeap) {
    let maker = loader.maker(heap.malloc as usize);
    MAY_NEST.store(maker == Some(Maker::Other), Ordering::Relaxed);
}

fn word() -> &'static Cell<bool> {
    let address: *const Cell<bool>;
    // SAFETY: the symbol's offset from the thread pointer, added to that. The word lives as long as the thread, and
    // only this thread has its address; zero is false.
    unsafe {
        core::arch::asm!("mov {0}, qword ptr [rip + heapscribe_inside@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]", out(reg) address, options(pure, nomem, nostack));
        &*address
    }
}

/// Whether this thread is in the heap already.
#[inline(always)]
pub(super) fn is_inside() -> bool {
    MAY_NEST.load(Ordering::Relaxed) && word().get()
}

/// Calls the heap.
#[inline(always)]
pub(super) fn inside<T>(call: impl FnOnce() -> T) -> T {
    if !MAY_NEST.load(Ordering::Relaxed) {
        return call();
    }
    let before = word().replace(true);
    let result = call();
    word().set(before);
    result
}
