//! Blocks that are freed while somebody else has the lock. Who frees does not wait for it: he leaves the block
//! here and goes on, and who has the lock next takes it back with what he came for. So a free waits for nobody -
//! not for a thread of lower priority, not for one whose core was taken away, and a signal handler not for the
//! very call that it interrupted.
//!
//! Anybody puts on, only holders of the lock take off. So a block that was first still is, with the same one
//! behind it, when the exchange that takes it off succeeds.
#![allow(unsafe_code)]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::mark::{keep, next_of, use_again, was_freed};

/// The list.
#[derive(Debug)]
pub(super) struct Left(AtomicPtr<u8>);

impl Left {
    /// An empty one.
    pub(super) const fn new() -> Left {
        Left(AtomicPtr::new(core::ptr::null_mut()))
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed).is_null()
    }

    /// Puts a block on; `false`, and nothing has changed, when it was freed before.
    ///
    /// # Safety
    /// * It is a block of the heap, and nobody else's any more.
    pub(super) unsafe fn put(&self, block: NonNull<u8>) -> bool {
        // SAFETY: the caller's contract.
        unsafe {
            if was_freed(block) {
                return false;
            }
            keep(block);
        }
        let mut first = self.0.load(Ordering::Relaxed);
        loop {
            // SAFETY: the block is the list's, and has a word for that.
            unsafe { next_of(block).write(NonNull::new(first)) };
            match self.0.compare_exchange_weak(first, block.as_ptr(), Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => first = other,
            }
        }
    }

    /// Takes the newest block off. For holders of the lock.
    pub(super) fn take(&self) -> Option<NonNull<u8>> {
        let mut first = self.0.load(Ordering::Acquire);
        loop {
            let block = NonNull::new(first)?;
            // SAFETY: a block on the list is the list's.
            let next = unsafe { next_of(block).read() }.map_or(core::ptr::null_mut(), NonNull::as_ptr);
            match self.0.compare_exchange_weak(first, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    // SAFETY: marked when it was put on.
                    unsafe { use_again(block) };
                    return Some(block);
                }
                Err(other) => first = other,
            }
        }
    }
}
