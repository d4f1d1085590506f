//! The recorder's thread-local words, reached without a call.
//!
//! A Rust `thread_local!` in a shared library compiles to `__tls_get_addr`, which may call `malloc` when
//! it grows its table (agnocast #1325, mimalloc #147). So the words are a symbol of our own in `.tbss`,
//! read through the initial-exec model: its offset from the thread pointer stands in the GOT. They need
//! no constructor and no destructor, and are there until the kernel's thread ends.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::sync::atomic::{Ordering, compiler_fence};

use super::thread::Thread;

core::arch::global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 16",
    ".globl heapscribe_thread_words",
    ".hidden heapscribe_thread_words",
    ".type heapscribe_thread_words,@object",
    ".size heapscribe_thread_words,64",
    "heapscribe_thread_words:",
    ".zero 64",
    ".previous",
);

/// What each thread has from its birth, zeroed.
///
/// ```text
///   0  thread   its state, null before its first event
///   8  inside   stack pointer of the hook that is in the recorder, 0 when none is
///  24  seen     mode word by which a hook may leave early, see `gate`
///  32  gap      bytes until the next sample
///  40  sections sections that the thread is in
///  48  first_gap the gap as it was just after the last sample of a block of the heap, less what pools took since:
///           another gap says that the thread has allocated blocks since that were not sampled
///  56  releases how often it has let go of CPython's lock
///  16  forwards 1 while a hook's call is in a heap that calls its own functions through the hooks
/// ```
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Words {
    /// The thread's state.
    pub thread: Cell<*const Thread>,
    /// Stack pointer of the hook that is in the recorder.
    pub inside: Cell<usize>,
    /// Whether a call is in a heap that calls its own functions through the hooks.
    pub forwards: Cell<bool>,
    /// The mode word by which a hook may leave early.
    pub seen: Cell<u64>,
    /// Bytes until the next sample.
    pub gap: Cell<u64>,
    /// How many sections the thread is in.
    pub sections: Cell<u64>,
    /// The gap after the last sample of a block of the heap.
    pub first_gap: Cell<u64>,
    /// How often the thread has let go of CPython's lock, since that is counted.
    pub releases: Cell<u64>,
}

const _: () = assert!(size_of::<Words>() == 64);
/// Offset of `seen`, for hooks.
pub const SEEN_OFFSET: usize = core::mem::offset_of!(Words, seen);
/// Offset of `gap`, for hooks.
pub const GAP_OFFSET: usize = core::mem::offset_of!(Words, gap);
/// Offset of `first_gap`, for pools.
pub const FIRST_GAP_OFFSET: usize = core::mem::offset_of!(Words, first_gap);
/// Offset of `sections`, for annotations.
pub const SECTIONS_OFFSET: usize = core::mem::offset_of!(Words, sections);

/// This thread's words.
#[inline(always)]
pub(crate) fn words() -> &'static Words {
    let address: *const Words;
    // SAFETY: the symbol's offset from the thread pointer, added to the thread pointer, which fs:0 holds
    // itself. The words live as long as the thread, and only this thread has their address.
    unsafe {
        core::arch::asm!("mov {0}, qword ptr [rip + heapscribe_thread_words@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]", out(reg) address, options(pure, nomem, nostack));
        &*address
    }
}

impl Words {
    /// Marks the recorder as entered from a hook whose stack pointer is `sp`.
    #[inline(always)]
    pub(crate) fn enter(&self, sp: usize) {
        self.inside.set(sp);
        // A signal handler on this thread must see the mark before anything that it protects.
        compiler_fence(Ordering::SeqCst);
    }

    /// Takes the mark away.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        compiler_fence(Ordering::SeqCst);
        self.inside.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_words_of_its_own_that_start_as_zero() {
        words().inside.set(7);
        let other = std::thread::spawn(|| (words().inside.get(), std::ptr::from_ref(words()) as usize));
        let (inside, address) = other.join().unwrap();
        assert_eq!(inside, 0);
        assert_ne!(address, std::ptr::from_ref(words()) as usize);
        assert_eq!(words().inside.get(), 7);
        words().inside.set(0);
    }
}
