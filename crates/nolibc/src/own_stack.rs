//! Work on a stack of ours, for what needs more of it than a program may have: the first call that it makes may come
//! from a coroutine or a signal handler with a page or two.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ffi::c_void;

/// Bytes of it. A heap's start was seen to use 9 KiB.
const STACK_BYTES: usize = 32 << 10;

/// A stack, whose pages come when they are used.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct OwnStack(UnsafeCell<[u8; STACK_BYTES]>);

// SAFETY: only `OwnStack::call` uses it, for one thread at a time.
unsafe impl Sync for OwnStack {}

impl Default for OwnStack {
    fn default() -> Self {
        OwnStack::new()
    }
}

impl OwnStack {
    /// An unused one.
    pub const fn new() -> OwnStack {
        OwnStack(UnsafeCell::new([0; STACK_BYTES]))
    }

    /// Calls `work` on this stack.
    ///
    /// # Safety
    /// * Alone: nobody else uses this stack until this returns.
    /// * Undisturbed: the thread's signals are blocked. A handler would run here, and might jump away.
    pub unsafe fn call<F: FnOnce()>(&self, work: F) {
        /// # Safety
        /// * Work: it is an `Option<F>` that nobody else uses until this returns.
        unsafe extern "C" fn run<F: FnOnce()>(work: *mut c_void) {
            // SAFETY: work.
            if let Some(work) = unsafe { (*work.cast::<Option<F>>()).take() } {
                work();
            }
        }
        let mut work = Some(work);
        let end = self.0.get().wrapping_add(1).cast::<u8>();
        // SAFETY: alone, undisturbed; the end of the stack is a multiple of 64.
        unsafe { call_on(end, run::<F>, (&raw mut work).cast()) };
    }
}

/// Calls `work(argument)` on the stack that ends at `end`. Unwinders find the caller by the frame pointer.
///
/// # Safety
/// * Stack: it is writable, nobody else's, has room for the call, and its end is a multiple of 16.
/// * Argument: it is what `work` takes.
#[unsafe(naked)]
unsafe extern "C" fn call_on(end: *mut u8, work: unsafe extern "C" fn(*mut c_void), argument: *mut c_void) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "endbr64",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rdi",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_there_and_comes_back() {
        static STACK: OwnStack = OwnStack::new();
        let range = STACK.0.get() as usize..STACK.0.get() as usize + STACK_BYTES;
        let (mut address, mut sum) = (0, 1);
        // SAFETY: no other test uses this stack; a signal in a test has no handler.
        unsafe {
            STACK.call(|| {
                let here = 0u8;
                address = &raw const here as usize;
                sum += 1;
            });
        }
        assert!(range.contains(&address), "{address:#x} in {range:#x?}");
        assert_eq!(sum, 2);
    }
}
