//! Thread-local words: each thread's number and cache, reached without a call (a `thread_local!`
//! in a shared library may call `malloc`: agnocast #1325).
//!
//! ```text
//!   0  number   the kernel's, which a lock with priority inheritance has to hold; asking takes a system call
//!   8  cache    of small blocks, or null
//! ```
#![allow(unsafe_code)]

use core::cell::Cell;

use super::sys;
use super::thread_cache::ThreadCache;

core::arch::global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    ".globl heapscribe_alloc_thread",
    ".hidden heapscribe_alloc_thread",
    ".type heapscribe_alloc_thread,@object",
    ".size heapscribe_alloc_thread,16",
    "heapscribe_alloc_thread:",
    ".zero 16",
    ".previous",
);

#[repr(C)]
struct Words {
    number: Cell<u32>,
    cache: Cell<*const ThreadCache>,
}

const _: () = assert!(size_of::<Words>() == 16);

#[inline(always)]
fn words() -> &'static Words {
    let address: *const Words;
    // SAFETY: the symbol's offset from the thread pointer, added to the thread pointer, which fs:0 holds
    // itself. The words live as long as the thread, and only this thread has their address; zeros are a
    // number that is not known and no cache.
    unsafe {
        core::arch::asm!("mov {0}, qword ptr [rip + heapscribe_alloc_thread@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]", out(reg) address, options(pure, nomem, nostack));
        &*address
    }
}

/// The thread's cache.
#[inline(always)]
pub(super) fn cache() -> *const ThreadCache {
    words().cache.get()
}

/// Gives the thread a cache, or with null none.
pub(super) fn set_cache(cache: *const ThreadCache) {
    words().cache.set(cache);
}

/// The thread's number, never 0.
#[inline(always)]
pub(super) fn id() -> u32 {
    match words().number.get() {
        0 => ask_kernel(),
        id => id,
    }
}

#[cold]
fn ask_kernel() -> u32 {
    words().number.set(sys::thread_id());
    words().number.get()
}

/// In a forked child, whose only thread has another number than the one it is a copy of.
pub(super) fn forget_id() {
    words().number.set(0);
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
