//! A lock that passes on priority: while a thread waits, the holder runs with the waiter's priority, so that
//! a thread in between cannot keep both from running. It is the kernel's protocol (FUTEX_LOCK_PI), whose
//! word holds the owner's number; taken and released without a system call when nobody waits.
//!
//! ```text
//!   bits 0-29  the owner's thread number, 0 when free
//!   bit  30    the owner has died (the kernel, for robust lists; we have none)
//!   bit  31    a thread waits: unlocking takes a system call
//! ```
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicU32, Ordering};

use super::{sys, thread_words};

const OWNER: u32 = 0x3fff_ffff;
/// Looks before the kernel is asked. What is done under the lock takes less.
const SPINS: u32 = 100;
/// How often a thread that has looked in vain lets others run before it queues in the kernel. The kernel gives the
/// lock to the first of its queue, who has to get a core before it can do anything with it, and whoever comes
/// meanwhile queues, too: a convoy that never ends, a change of threads for every call (8 threads of malloc and free
/// took 6.5 s in place of 0.2). A thread of real-time priority loses some microseconds by it and then queues.
const YIELDS: u32 = 8;
/// How long an owner of whom the kernel knows nothing is waited for: it may be a thread whose cached number is
/// that of its parent, in a child that was cloned without fork's handlers. After that the lock is taken over.
const NAPS: u32 = 1000;
const NAP_NS: u32 = 1_000_000;
/// How long the kernel is waited for at a time. A child of `vfork` works in its parent's memory under its parent's
/// cached number, so the kernel does not let it wake a waiter: a thread waited for ever for a lock that was free.
const WAIT_NS: u32 = 20_000_000;

/// The lock.
#[derive(Debug, Default)]
pub struct PiMutex(AtomicU32);

/// The lock is held while this lives.
#[derive(Debug)]
pub struct Held<'a>(&'a PiMutex);

/// This thread holds the lock itself: a signal handler interrupted its call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reentered;

impl PiMutex {
    /// Free.
    pub const fn new() -> PiMutex {
        PiMutex(AtomicU32::new(0))
    }

    /// Takes the lock.
    #[inline(always)]
    pub fn lock(&self) -> Result<Held<'_>, Reentered> {
        if self.try_for(thread_words::id()) { Ok(Held(self)) } else { self.wait() }
    }

    /// Takes the lock if it is free.
    #[inline(always)]
    pub fn try_lock(&self) -> Option<Held<'_>> {
        self.try_for(thread_words::id()).then(|| Held(self))
    }

    #[inline(always)]
    fn try_for(&self, id: u32) -> bool {
        self.0.compare_exchange(0, id, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn wait(&self) -> Result<Held<'_>, Reentered> {
        let id = thread_words::id();
        if self.0.load(Ordering::Relaxed) & OWNER == id {
            return Err(Reentered);
        }
        for _ in 0..SPINS {
            core::hint::spin_loop();
            if self.0.load(Ordering::Relaxed) == 0 && self.try_for(id) {
                return Ok(Held(self));
            }
        }
        for _ in 0..YIELDS {
            sys::yield_core();
            if self.0.load(Ordering::Relaxed) == 0 && self.try_for(id) {
                return Ok(Held(self));
            }
        }
        let mut naps = 0;
        loop {
            match sys::futex_lock_pi(&self.0, WAIT_NS) {
                Ok(()) => return Ok(Held(self)),
                Err(sys::EDEADLK) => return Err(Reentered),
                Err(sys::ETIMEDOUT) if self.try_for(id) => return Ok(Held(self)),
                // No such owner, or not the one that others wait for, or no such futex under this kernel: only
                // looking again is left.
                Err(sys::ESRCH | sys::EINVAL | sys::ENOSYS | sys::EPERM) => {
                    naps += 1;
                    if self.try_for(id) || self.take_over(naps, id) {
                        return Ok(Held(self));
                    }
                    sys::sleep_ns(NAP_NS);
                }
                // Interrupted, or the owner is just going.
                Err(_) => {}
            }
        }
    }

    /// After so many naps an owner that is no thread of this process counts as dead. The kernel may know it all
    /// the same: in a forked child the number is that of a thread of the parent.
    fn take_over(&self, naps: u32, id: u32) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        let is_dead = naps >= NAPS && word & OWNER != 0 && !sys::is_thread(word & OWNER);
        is_dead && self.0.compare_exchange(word, id, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Releases a lock whose [`Held`] was forgotten: what fork's handlers hold from one to the next.
    ///
    /// # Safety
    /// * Locked: this thread took it, and gave the `Held` to `core::mem::forget`.
    pub unsafe fn unlock(&self) {
        debug_assert_ne!(self.0.load(Ordering::Relaxed), 0);
        drop(Held(self));
    }

    /// In a forked child: the number in a taken lock is the parent's, and its waiters are not there. The lock is
    /// free when the fork's handler had taken it, else it is still that of the call that a signal handler
    /// interrupted to fork, which this thread has to finish.
    ///
    /// # Safety
    /// * Single-threaded: this is the only thread of its process.
    pub unsafe fn restart(&self, is_handlers: bool) {
        thread_words::forget_id();
        let is_taken = self.0.load(Ordering::Relaxed) != 0;
        self.0.store(if is_taken && !is_handlers { thread_words::id() } else { 0 }, Ordering::Release);
    }
}

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let word = &self.0.0;
        if word.compare_exchange(thread_words::id(), 0, Ordering::Release, Ordering::Relaxed).is_err() {
            hand_over(word);
        }
    }
}

/// Somebody waits, or the kernel gave the lock to a thread whose cached number is stale.
#[cold]
fn hand_over(word: &AtomicU32) {
    if sys::futex_unlock_pi(word).is_err() {
        // Not ours as the kernel sees it: without a waiter a plain store is what is left.
        word.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::UnsafeCell;

    struct Shared(PiMutex, UnsafeCell<u64>);
    // SAFETY: the number is used under the lock only.
    unsafe impl Sync for Shared {}

    impl Shared {
        fn add(&self, is_slow: bool) {
            let _held = self.0.lock().unwrap();
            // SAFETY: the lock is held.
            unsafe { *self.1.get() += 1 };
            // Now and then long enough for the others to wait in the kernel.
            if is_slow {
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn one_thread_at_a_time_holds_it() {
        let shared = Shared(PiMutex::new(), UnsafeCell::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20_000).for_each(|n| shared.add(n % 1000 == 0)));
            }
        });
        // SAFETY: all other threads have ended.
        assert_eq!(unsafe { *shared.1.get() }, 80_000);
        assert_eq!(shared.0.0.load(Ordering::Relaxed), 0, "nobody waits for nothing");
    }

    #[test]
    fn a_thread_does_not_wait_for_itself() {
        let mutex = PiMutex::new();
        let held = mutex.lock().unwrap();
        assert_eq!(mutex.lock().err(), Some(Reentered));
        drop(held);
        assert!(mutex.lock().is_ok());
    }

    #[test]
    fn a_lock_of_a_dead_thread_is_taken_over_in_the_end() {
        let mutex = PiMutex::new();
        std::thread::scope(|scope| scope.spawn(|| core::mem::forget(mutex.lock())).join().unwrap());
        assert!(mutex.lock().is_ok());
    }
}
