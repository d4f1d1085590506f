//! The recorder's one lock: for what is rare - a new stack, a new module, a new thread, more memory.
//!
//! It is taken with all signals held back, so no handler can run, or jump away, while it is held; never
//! while a function of the program or of the loader is called; and never waited for without end: who
//! does not get it in time drops what he wanted it for and counts that. It lives in memory that is zero
//! in a forked child, so a child never finds it taken by a thread that it does not have.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;

/// How long somebody waits at most, in naps of [`NAP_NS`].
const NAPS_MAX: u32 = 2_000;
const NAP_NS: u64 = 50_000;
const SPINS: u32 = 200;

/// Unlocked when zero.
#[derive(Debug, Default)]
pub(crate) struct Lock(AtomicU32);

/// The lock is held, and signals are held back, while this lives.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    lock: &'a Lock,
    _signals: sys::SignalsBlocked,
}

impl Lock {
    /// Takes the lock; `None` when it could not be had in about 100 ms.
    pub(crate) fn hold(&self) -> Option<Held<'_>> {
        let signals = sys::SignalsBlocked::new();
        for nap in 0..NAPS_MAX {
            for _ in 0..SPINS {
                if self.0.load(Ordering::Relaxed) == 0
                    && self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
                {
                    return Some(Held { lock: self, _signals: signals });
                }
                core::hint::spin_loop();
            }
            sys::sleep_ns(if nap < 4 { 1 } else { NAP_NS });
        }
        None
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.lock.0.store(0, Ordering::Release);
    }
}
