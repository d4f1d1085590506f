//! What may be read of a block while other threads use the heap: only the block's owner changes what is looked at
//! here.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use crate::request::Request;

use super::allocator::Tlsf;
use super::block::{Block, OVERHEAD, total_for};
use super::poison;

impl Tlsf {
    /// The bytes that may be used at a block.
    ///
    /// # Safety
    /// * Used: `contents` was allocated by a heap of this kind and was not freed.
    #[inline(always)]
    pub unsafe fn usable_size(contents: NonNull<u8>) -> usize {
        // SAFETY: used: the block's header holds, and its total does not change meanwhile.
        unsafe { Block(contents).total() - OVERHEAD }
    }

    /// What a block takes of its pool.
    ///
    /// # Safety
    /// * Used: as for [`Tlsf::usable_size`].
    #[inline(always)]
    pub(crate) unsafe fn total(contents: NonNull<u8>) -> usize {
        // SAFETY: used: the block's header holds, and its total does not change meanwhile.
        unsafe { Block(contents).total() }
    }

    /// Whether [`Tlsf::resize`] would find nothing to do.
    ///
    /// # Safety
    /// * Used: as for [`Tlsf::usable_size`].
    #[inline(always)]
    pub(crate) unsafe fn is_as_large(contents: NonNull<u8>, request: Request) -> bool {
        // SAFETY: used: the block's header holds, and its total does not change meanwhile.
        let total = unsafe { Block(contents).total() };
        total == total_for(request.size_bytes()) && request.is_aligned(contents.as_ptr() as usize)
    }

    /// Whether a block is free.
    ///
    /// # Safety
    /// * Allocated: `contents` was allocated by a heap of this kind, whether it was freed or not.
    #[inline(always)]
    pub(crate) unsafe fn is_free(contents: NonNull<u8>) -> bool {
        // SAFETY: allocated: the words of a block stay readable for ever, as pools do.
        unsafe { Block(contents).is_free() }
    }

    /// Poisons a block that the program has freed and its pool has not got back yet. Its first two words are the
    /// caller's.
    ///
    /// # Safety
    /// * Owned: `contents` was allocated by a heap of this kind, and is the caller's.
    #[inline(always)]
    pub(crate) unsafe fn poison(contents: NonNull<u8>) {
        // SAFETY: owned: the contents are nobody else's.
        unsafe { poison::fill(Block(contents)) };
    }

    /// Checks that nobody has written to a block since [`Tlsf::poison`].
    ///
    /// # Safety
    /// * Owned: as for [`Tlsf::poison`], which was called for it.
    #[inline(always)]
    pub(crate) unsafe fn check_poison(contents: NonNull<u8>) {
        // SAFETY: owned: the contents are nobody else's.
        unsafe { poison::check(Block(contents)) };
    }

    /// Prefetches the words that freeing a block will look at.
    ///
    /// # Safety
    /// * Used: as for [`Tlsf::usable_size`].
    #[inline(always)]
    pub unsafe fn prefetch(contents: NonNull<u8>) {
        // SAFETY: used.
        unsafe { Block(contents).prefetch_neighbours() };
    }
}
