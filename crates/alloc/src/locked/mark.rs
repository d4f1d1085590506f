//! A block that the program has freed and the pool has not got back yet: it lies in a cache, or was left. Its
//! first word is the list's that it is in, its second says what it is, so that freeing it again is seen.
//!
//! ```text
//!   block | next, or null | its address ^ KEY | ...
//! ```
#![allow(unsafe_code)]

use core::ptr::NonNull;

use crate::tlsf::Tlsf;

const KEY: usize = 0x6b65_7074_b10c_c5a7;

/// Marks a block.
///
/// # Safety
/// * It is a block of a pool, and nobody else's any more.
#[inline(always)]
pub(super) unsafe fn keep(block: NonNull<u8>) {
    // SAFETY: the caller's contract; a block has room for two words.
    unsafe {
        Tlsf::keep(block);
        key_of(block).write(block.as_ptr() as usize ^ KEY);
    }
}

/// Takes the mark away.
///
/// # Safety
/// * As for [`keep`], which was called for it.
#[inline(always)]
pub(super) unsafe fn use_again(block: NonNull<u8>) {
    // SAFETY: as for `keep`.
    unsafe {
        Tlsf::use_again(block);
        key_of(block).write(0);
    }
}

/// Whether a block is marked.
///
/// # Safety
/// * It is a block of a pool that is not free there.
#[inline(always)]
pub(super) unsafe fn is_kept(block: NonNull<u8>) -> bool {
    // SAFETY: a block has room for two words.
    unsafe { key_of(block).read() == block.as_ptr() as usize ^ KEY }
}

/// Whether the program has freed a block already: it is the pool's again, or marked.
///
/// # Safety
/// * It is a block of a pool, whoever has it.
#[inline(always)]
pub(super) unsafe fn was_freed(block: NonNull<u8>) -> bool {
    // SAFETY: the caller's contract; what is not free in its pool is looked at further.
    unsafe { Tlsf::is_free(block) || is_kept(block) }
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
