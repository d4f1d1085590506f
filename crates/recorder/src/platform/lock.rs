//! The recorder's one lock: for what is rare - a new stack, a new module, a new thread, more memory.
//!
//! It is taken with all signals held back, so no handler can run, or jump away, while it is held; never
//! while a function of the program or of the loader is called; and never waited for without end: whoever
//! does not get it in time drops what it was wanted for, counted. It lives in memory that is zero
//! in a forked child, so a child never finds it taken by a thread that it does not have.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use heapscribe_nolibc::sys;

/// How long somebody waits at most, in naps of [`NAP_NS`]: about a second. A hundred threads that begin at
/// once on two busy processors were seen to wait for 200 ms.
const NAPS_MAX: u32 = 10_000;
/// The same while somebody has waited in vain, and nobody has had the lock since.
const NAPS_WHEN_STUCK: u32 = 20;
const NAP_NS: u64 = 50_000;
const SPINS: u32 = 200;

/// Unlocked when zero.
#[derive(Debug, Default)]
pub(crate) struct Lock {
    word: AtomicU32,
    is_stuck: AtomicBool,
}

/// The lock is held, and signals are held back, while this lives.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    lock: &'a Lock,
    _signals: sys::SignalsBlocked,
}

impl Lock {
    /// Takes the lock; `None` when it could not be had in about a second.
    pub(crate) fn hold(&self) -> Option<Held<'_>> {
        let signals = sys::SignalsBlocked::new();
        let naps = if self.is_stuck.load(Ordering::Relaxed) { NAPS_WHEN_STUCK } else { NAPS_MAX };
        for nap in 0..naps {
            for _ in 0..SPINS {
                if self.word.load(Ordering::Relaxed) == 0
                    && self.word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
                {
                    if self.is_stuck.load(Ordering::Relaxed) {
                        self.is_stuck.store(false, Ordering::Relaxed);
                    }
                    return Some(Held { lock: self, _signals: signals });
                }
                core::hint::spin_loop();
            }
            sys::sleep_ns(if nap < 4 { 1 } else { NAP_NS });
        }
        self.is_stuck.store(true, Ordering::Relaxed);
        None
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.lock.word.store(0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_after_one_that_waited_in_vain_waits_less() {
        let lock = Lock { word: AtomicU32::new(1), is_stuck: AtomicBool::new(true) };
        assert!(lock.hold().is_none());
        lock.word.store(0, Ordering::Release);
        assert!(lock.hold().is_some());
        assert!(!lock.is_stuck.load(Ordering::Relaxed));
    }
}
