//! The recorder's own memory: private pages that core dumps leave out, emptied in a forked child.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use heapscribe_alloc::arena::Arena;

use crate::sys::{self, Advice};

static ARENA: Arena = Arena::new(pages);

/// New zeroed pages of our own.
pub(crate) fn pages(len_bytes: usize) -> Option<NonNull<u8>> {
    let base = sys::map_private(len_bytes).ok()?;
    // SAFETY: the mapping was just made and is ours; not dumping private bookkeeping loses nothing.
    let _ = unsafe { sys::advise(base, len_bytes, Advice::DontDump) };
    NonNull::new(base)
}

/// Zeroed memory for `len_bytes`, aligned to 64, for the life of the process. `None` when the
/// kernel gives none, or the arena is sealed.
///
/// # Safety
/// * The caller holds the recorder's lock or is the only thread that is in the recorder.
pub(crate) unsafe fn alloc(len_bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: the caller's contract.
    unsafe { ARENA.alloc(len_bytes) }
}

/// Bytes of private memory taken so far.
pub(crate) fn total_bytes() -> usize {
    ARENA.total_bytes()
}

/// Nothing more is handed out: for tests that show that the hot path allocates nothing.
pub(crate) fn seal() {
    ARENA.seal();
}

/// Hands the memory out anew in a forked child.
///
/// # Safety
/// * The process has just been forked, this is its only thread, and nothing from before is used again.
pub(crate) unsafe fn restart_in_child() {
    /// # Safety
    /// * The range is a mapping of ours, and its contents are no longer wanted.
    unsafe fn empty(base: NonNull<u8>, len_bytes: usize) {
        // SAFETY: the caller's contract.
        if unsafe { sys::advise(base.as_ptr(), len_bytes, Advice::DontNeed) }.is_err() {
            // SAFETY: the caller's contract. Pages that are locked in memory cannot be given back.
            unsafe { base.as_ptr().write_bytes(0, len_bytes) };
        }
    }
    // SAFETY: the caller's contract; `empty` zeroes private pages one way or the other.
    unsafe { ARENA.restart(empty) };
}
