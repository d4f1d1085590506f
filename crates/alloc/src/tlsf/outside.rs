//! What may be asked of a block while others use the heap: only who has it changes what is looked at here.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use crate::request::Request;

use super::block::{Block, OVERHEAD, total_for};
use super::heap::Tlsf;
use super::poison;

impl Tlsf {
    /// The bytes that may be used at a block.
    ///
    /// # Safety
    /// * `contents` came from a heap of this kind and was not freed.
    #[inline(always)]
    pub unsafe fn usable_size(contents: NonNull<u8>) -> usize {
        // SAFETY: the caller's contract.
        unsafe { Block(contents).total() - OVERHEAD }
    }

    /// What a block takes of its pool.
    ///
    /// # Safety
    /// * As for [`Tlsf::usable_size`].
    #[inline(always)]
    pub(crate) unsafe fn total(contents: NonNull<u8>) -> usize {
        // SAFETY: the caller's contract.
        unsafe { Block(contents).total() }
    }

    /// Whether [`Tlsf::resize`] would find nothing to do.
    ///
    /// # Safety
    /// * As for [`Tlsf::usable_size`].
    #[inline(always)]
    pub(crate) unsafe fn is_as_large(contents: NonNull<u8>, request: Request) -> bool {
        // SAFETY: the caller's contract.
        let total = unsafe { Block(contents).total() };
        total == total_for(request.size_bytes()) && request.is_aligned(contents.as_ptr() as usize)
    }

    /// Whether a block is free.
    ///
    /// # Safety
    /// * `contents` came from a heap of this kind.
    #[inline(always)]
    pub(crate) unsafe fn is_free(contents: NonNull<u8>) -> bool {
        // SAFETY: the caller's contract.
        unsafe { Block(contents).is_free() }
    }

    /// The program has no use for a block that is not given back yet. Its first two words are the caller's.
    ///
    /// # Safety
    /// * `contents` came from a heap of this kind, and is the caller's.
    #[inline(always)]
    pub(crate) unsafe fn keep(contents: NonNull<u8>) {
        // SAFETY: the caller's contract.
        unsafe { poison::fill(Block(contents)) };
    }

    /// The program gets a block again that was kept.
    ///
    /// # Safety
    /// * As for [`Tlsf::keep`], which was called for it.
    #[inline(always)]
    pub(crate) unsafe fn use_again(contents: NonNull<u8>) {
        // SAFETY: the caller's contract.
        unsafe { poison::check(Block(contents)) };
    }

    /// Has the words that freeing a block will look at come into the cache.
    ///
    /// # Safety
    /// * As for [`Tlsf::usable_size`].
    #[inline(always)]
    pub unsafe fn fetch(contents: NonNull<u8>) {
        // SAFETY: the caller's contract.
        unsafe { Block(contents).fetch() };
    }
}
