//! Blocks that are freed while another thread has the lock. A free does not wait for it: it defers the block here and
//! returns, and the next call that has the lock frees it. So a free waits for nobody - not for a thread of lower
//! priority, not for one whose core was taken away, and a signal handler not for the very call that it interrupted.
//!
//! Any thread pushes, only holders of the lock pop. So a block that was first still is, with the same one behind it,
//! when the exchange that pops it succeeds.
#![allow(unsafe_code)]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::freed_mark::{mark, next_of, unmark, was_freed};

/// The list.
#[derive(Debug)]
pub(super) struct DeferredFrees(AtomicPtr<u8>);

impl DeferredFrees {
    /// An empty one.
    pub(super) const fn new() -> DeferredFrees {
        DeferredFrees(AtomicPtr::new(core::ptr::null_mut()))
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed).is_null()
    }

    /// Pushes a block; `false`, and nothing has changed, when it was freed before.
    ///
    /// # Safety
    /// * Owned: it is a block of the heap, and nobody else's any more.
    pub(super) unsafe fn push(&self, block: NonNull<u8>) -> bool {
        // SAFETY: owned.
        unsafe {
            if was_freed(block) {
                return false;
            }
            mark(block);
        }
        let mut first = self.0.load(Ordering::Relaxed);
        loop {
            // SAFETY: owned: the block is the list's now, and has a word for that.
            unsafe { next_of(block).write(NonNull::new(first)) };
            match self.0.compare_exchange_weak(first, block.as_ptr(), Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => first = other,
            }
        }
    }

    /// Pops the newest block.
    ///
    /// # Safety
    /// * Locked: the caller holds the heap's lock.
    pub(super) unsafe fn pop(&self) -> Option<NonNull<u8>> {
        let mut first = self.0.load(Ordering::Acquire);
        loop {
            let block = NonNull::new(first)?;
            // SAFETY: locked: nobody else pops, so the block stays the list's.
            let next = unsafe { next_of(block).read() }.map_or(core::ptr::null_mut(), NonNull::as_ptr);
            match self.0.compare_exchange_weak(first, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    // SAFETY: it was marked when it was pushed, and is the caller's since now.
                    unsafe { unmark(block) };
                    return Some(block);
                }
                Err(other) => first = other,
            }
        }
    }
}
