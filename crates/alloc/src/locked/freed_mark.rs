//! The mark of a block that the program has freed and the pool has not got back yet: it lies in a thread's cache, or
//! its free is deferred. Its first word is the list's that it is in, its second says what it is, so that freeing it
//! again is seen.
//!
//! ```text
//!   block | next, or null | its address ^ KEY | ...
//! ```
#![allow(unsafe_code)]

use core::ptr::NonNull;

use crate::tlsf::Tlsf;

const KEY: usize = 0x6b65_7074_b10c_c5a7;

/// Marks a block as freed.
///
/// # Safety
/// * Owned: it is a block of a pool, and nobody else's any more.
#[inline(always)]
pub(super) unsafe fn mark(block: NonNull<u8>) {
    // SAFETY: owned; a block has room for two words.
    unsafe {
        Tlsf::poison(block);
        key_of(block).write(block.as_ptr() as usize ^ KEY);
    }
}

/// Removes the mark.
///
/// # Safety
/// * Owned: as for [`mark`], which was called for it.
#[inline(always)]
pub(super) unsafe fn unmark(block: NonNull<u8>) {
    // SAFETY: owned; a block has room for two words.
    unsafe {
        debug_assert!(is_marked(block));
        Tlsf::check_poison(block);
        key_of(block).write(0);
    }
}

/// Whether a block is marked.
///
/// # Safety
/// * Used: it is a block of a pool that is not free there.
#[inline(always)]
pub(super) unsafe fn is_marked(block: NonNull<u8>) -> bool {
    // SAFETY: used: a block has room for two words.
    unsafe { key_of(block).read() == block.as_ptr() as usize ^ KEY }
}

/// Whether the program has freed a block already: it is the pool's again, or marked.
///
/// # Safety
/// * Allocated: it was allocated from a pool, whether it was freed or not.
#[inline(always)]
pub(super) unsafe fn was_freed(block: NonNull<u8>) -> bool {
    // SAFETY: allocated; what is not free in its pool is looked at further.
    unsafe { Tlsf::is_free(block) || is_marked(block) }
}

/// Where the next one of its list is.
#[inline(always)]
pub(super) fn next_of(block: NonNull<u8>) -> NonNull<Option<NonNull<u8>>> {
    block.cast()
}

#[inline(always)]
fn key_of(block: NonNull<u8>) -> *mut usize {
    block.cast::<usize>().as_ptr().wrapping_add(1)
}
