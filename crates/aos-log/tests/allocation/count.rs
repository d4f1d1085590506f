//! Counts the calls of malloc's family that a thread makes, those of C libraries too: the test program has
//! these functions itself, and hands each call on to glibc.
#![allow(unsafe_code, missing_docs, unreachable_pub, reason = "functions that libc declares")]

use std::cell::Cell;
use std::ffi::{c_int, c_void};

thread_local! {
    // Without a destructor and with a constant to begin with, so that it takes no memory itself.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// Calls that this thread has made so far.
pub fn calls() -> u64 {
    CALLS.get()
}

fn count() {
    CALLS.set(CALLS.get() + 1);
}

unsafe extern "C" {
    fn __libc_malloc(bytes: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, bytes: usize) -> *mut c_void;
    fn __libc_realloc(start: *mut c_void, bytes: usize) -> *mut c_void;
    fn __libc_memalign(alignment: usize, bytes: usize) -> *mut c_void;
}

// SAFETY (all below): they are glibc's own functions under the names that it exports for this purpose; what
// they promise is what the caller expects of the one it called.

#[unsafe(no_mangle)]
extern "C" fn malloc(bytes: usize) -> *mut c_void {
    count();
    // SAFETY: see above.
    unsafe { __libc_malloc(bytes) }
}

#[unsafe(no_mangle)]
extern "C" fn calloc(number: usize, bytes: usize) -> *mut c_void {
    count();
    // SAFETY: see above.
    unsafe { __libc_calloc(number, bytes) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(start: *mut c_void, bytes: usize) -> *mut c_void {
    count();
    // SAFETY: see above.
    unsafe { __libc_realloc(start, bytes) }
}

#[unsafe(no_mangle)]
extern "C" fn memalign(alignment: usize, bytes: usize) -> *mut c_void {
    count();
    // SAFETY: see above.
    unsafe { __libc_memalign(alignment, bytes) }
}

#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(alignment: usize, bytes: usize) -> *mut c_void {
    memalign(alignment, bytes)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(start: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int {
    const ENOMEM: c_int = 12;
    let block = memalign(alignment, bytes);
    if block.is_null() {
        return ENOMEM;
    }
    // SAFETY: the caller gives a place for the result.
    unsafe { *start = block };
    0
}
