//! The recorder's one lock: for what is rare - a new stack, a new module, a new thread, more memory.
//!
//! It is taken with all signals held back, so no handler can run, or jump away, while it is held; never
//! while a function of the program or of the loader is called; and never waited for without end: whoever
//! does not get it in time - longer while others do - drops what it was wanted for, counted. It lives in
//! memory that is zero in a forked child, so a child never finds it taken by a thread that it does not have.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use heapscribe_nolibc::sys;

/// Naps for which the lock has not changed hands until nobody waits any more: a second, the first of them being
/// shorter, or more where the processors are busy.
const QUIET_NAPS_MAX: u32 = 320;
/// The same while somebody has waited in vain, and nobody has had the lock since: 1 ms.
const QUIET_NAPS_WHEN_STUCK: u32 = 20;
/// Naps at most, while it does change hands: 10 s, as when thousands of threads begin at once.
const NAPS_MAX: u32 = 3_250;
const NAP_NS: u64 = 50_000;
/// Naps of one length; the next are twice as long, up to 3.2 ms: thousands that wait would else take the processors
/// from the one that has the lock.
const NAPS_OF_A_LENGTH: u32 = 32;
const DOUBLINGS_MAX: u32 = 6;

/// How long a nap is.
fn nap_ns(nap: u32) -> u64 {
    if nap < 4 { 1 } else { NAP_NS << (nap / NAPS_OF_A_LENGTH).min(DOUBLINGS_MAX) }
}

const SPINS: u32 = 200;

/// Unlocked when zero.
#[derive(Debug, Default)]
pub(crate) struct Lock {
    word: AtomicU32,
    is_stuck: AtomicBool,
    /// How often it was taken.
    turns: AtomicU32,
}

/// The lock is held, and signals are held back, while this lives.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    lock: &'a Lock,
    _signals: sys::SignalsBlocked,
}

impl Lock {
    /// Takes the lock; `None` when nobody has had it for a second, or it could not be had in ten.
    pub(crate) fn hold(&self) -> Option<Held<'_>> {
        let signals = sys::SignalsBlocked::new();
        let is_stuck = self.is_stuck.load(Ordering::Relaxed);
        let quiet_max = if is_stuck { QUIET_NAPS_WHEN_STUCK } else { QUIET_NAPS_MAX };
        let (mut turns, mut quiet) = (self.turns.load(Ordering::Relaxed), 0);
        for nap in 0..NAPS_MAX {
            if self.try_hold() {
                return Some(Held { lock: self, _signals: signals });
            }
            if quiet >= quiet_max {
                break;
            }
            sys::sleep_ns(nap_ns(nap));
            let now = self.turns.load(Ordering::Relaxed);
            quiet = if now == turns { quiet + 1 } else { 0 };
            turns = now;
        }
        self.is_stuck.store(true, Ordering::Relaxed);
        None
    }

    fn try_hold(&self) -> bool {
        for _ in 0..SPINS {
            if self.word.load(Ordering::Relaxed) == 0
                && self.word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                self.turns.store(self.turns.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
                if self.is_stuck.load(Ordering::Relaxed) {
                    self.is_stuck.store(false, Ordering::Relaxed);
                }
                return true;
            }
            core::hint::spin_loop();
        }
        false
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
    fn naps_are_a_second_without_and_ten_with_others() {
        let all_ms = |naps: core::ops::Range<u32>| naps.map(nap_ns).sum::<u64>() / 1_000_000;
        assert!((900..1_100).contains(&all_ms(200..200 + QUIET_NAPS_MAX)));
        assert!((500..1_100).contains(&all_ms(0..QUIET_NAPS_MAX)));
        assert!((9_000..11_000).contains(&all_ms(0..NAPS_MAX)));
        assert!(all_ms(0..QUIET_NAPS_WHEN_STUCK) <= 1);
    }

    #[test]
    fn who_comes_after_one_that_waited_in_vain_waits_less() {
        let lock =
            Lock { word: AtomicU32::new(1), is_stuck: AtomicBool::new(true), turns: AtomicU32::default() };
        assert!(lock.hold().is_none());
        lock.word.store(0, Ordering::Release);
        assert!(lock.hold().is_some());
        assert!(!lock.is_stuck.load(Ordering::Relaxed));
    }
}
