//! A value that is set once, early, by the first thread that has it, and read without a lock from then on.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering};

/// A value that is set once. A second thread that sets it at the same time sets the same.
#[derive(Debug)]
pub struct Once<T> {
    /// 0 unset, 1 being set, 2 set.
    state: AtomicU32,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the value is written by the one thread that moved the state from 0 to 1, and read only after
// the state was stored as 2 with release.
unsafe impl<T: Sync> Sync for Once<T> {}

impl<T> Default for Once<T> {
    fn default() -> Self {
        Once::new()
    }
}

impl<T> Once<T> {
    /// Not set.
    pub const fn new() -> Self {
        Once { state: AtomicU32::new(0), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Makes it unset again when it was being set. A value that is set stays.
    ///
    /// # Safety
    /// * Abandoned: the thread that was setting it does not run any more: in a forked child, a thread of the parent.
    pub unsafe fn abandon(&self) {
        let _ = self.state.compare_exchange(1, 0, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// The value, if it is set.
    #[inline(always)]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: state 2 says that the value was written.
        (self.state.load(Ordering::Acquire) == 2).then(|| unsafe { (*self.value.get()).assume_init_ref() })
    }

    /// Sets the value unless another thread does, which takes a few instructions.
    pub fn set(&self, value: T) {
        if self.state.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            // SAFETY: only the thread that moved the state from 0 to 1 is here.
            unsafe { (*self.value.get()).write(value) };
            self.state.store(2, Ordering::Release);
        }
        while self.state.load(Ordering::Acquire) != 2 {
            core::hint::spin_loop();
        }
    }
}
