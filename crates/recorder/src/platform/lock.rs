//! The recorder's one lock: for what is rare - a new stack, a new module, a new thread, more memory.
//!
//! It is taken with all signals held back, so no handler can run, or jump away, while it is held; never
//! while a function of the program or of the loader is called; and never waited for without end: whoever
//! does not get it in time - longer while others do - drops what it was wanted for, counted. It lives in
//! memory that is zero in a forked child, so a child never finds it taken by a thread that it does not have.
//!
//! Who waits sleeps in the kernel until it is given back (a futex), in the order of coming. Naps in its place took
//! the processors from the thread that had it, when thousands waited with little time to run: 5,000 threads under
//! `nice -n 19` beside four busy programs lost up to 2,000 calls. Where the kernel or a filter refuses that, they nap.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use heapscribe_nolibc::sys::{self, Slept};

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and somebody may sleep for it.
const WANTED: u32 = 2;

/// Looks at the word before the first sleep: most hold it for less than a sleep takes.
const SPINS: u32 = 200;
/// One sleep, when nobody gives it back.
const SLEEP_NS: u64 = 1_000_000_000;
/// The same where there is no futex.
const NAP_NS: u64 = 1_000_000;
/// How long nobody has had it until nobody waits any more. Not a second: so long may a thread with little time to run
/// be kept from giving it back.
const QUIET_NS_MAX: u64 = 5 * SLEEP_NS;
/// The same while somebody has waited in vain, and nobody has had the lock since.
const QUIET_NS_WHEN_STUCK: u64 = 1_000_000;
/// All sleep of one wait, while it does change hands, as when thousands of threads begin at once.
const SLEEP_NS_MAX: u64 = 60 * SLEEP_NS;
/// How often a sleeper is woken and finds it taken again by one that did not sleep.
const WAKES_MAX: u32 = 100_000;

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
    /// Takes the lock; `None` when nobody has had it for five seconds, or it could not be had in a minute.
    pub(crate) fn hold(&self) -> Option<Held<'_>> {
        let signals = sys::SignalsBlocked::new();
        let is_taken = self.spin() || self.wait();
        is_taken.then(|| {
            self.turns.store(self.turns.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
            if self.is_stuck.load(Ordering::Relaxed) {
                self.is_stuck.store(false, Ordering::Relaxed);
            }
            Held { lock: self, _signals: signals }
        })
    }

    fn spin(&self) -> bool {
        (0..SPINS).any(|_| {
            let is_free = self.word.load(Ordering::Relaxed) == FREE;
            let is_taken = is_free
                && self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok();
            if !is_taken {
                core::hint::spin_loop(); // not before the first look: some processors rest for 140 cycles
            }
            is_taken
        })
    }

    #[cold]
    fn wait(&self) -> bool {
        let is_stuck = self.is_stuck.load(Ordering::Relaxed);
        let quiet_max = if is_stuck { QUIET_NS_WHEN_STUCK } else { QUIET_NS_MAX };
        let (mut turns, mut quiet_ns, mut slept_ns) = (self.turns.load(Ordering::Relaxed), 0, 0);
        for _ in 0..WAKES_MAX {
            // Who sleeps has said so, and who has slept does not know whether others do.
            if self.word.swap(WANTED, Ordering::Acquire) == FREE {
                return true;
            }
            if quiet_ns >= quiet_max || slept_ns >= SLEEP_NS_MAX {
                break;
            }
            let ns = self.sleep(SLEEP_NS.min(quiet_max));
            let now = self.turns.load(Ordering::Relaxed);
            quiet_ns = if now == turns { quiet_ns + ns } else { 0 };
            slept_ns += ns;
            turns = now;
        }
        self.is_stuck.store(true, Ordering::Relaxed);
        false
    }

    /// Sleeps until it is given back. Gives the whole time when it was not.
    fn sleep(&self, ns: u64) -> u64 {
        match sys::futex_wait(&self.word, WANTED, ns) {
            Slept::Woken => 0,
            Slept::WholeTime => ns,
            Slept::Refused => {
                let ns = ns.min(NAP_NS);
                sys::sleep_ns(ns);
                ns
            }
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.lock.word.swap(FREE, Ordering::Release) == WANTED {
            sys::futex_wake(&self.lock.word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_at_a_time_and_all_get_it() {
        const EACH: u32 = 2_000;
        let (lock, count) = (Lock::default(), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        let _held = lock.hold().unwrap();
                        let before = count.load(Ordering::Relaxed);
                        std::thread::yield_now();
                        count.store(before + 1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(count.load(Ordering::Relaxed), 16 * EACH);
        assert_eq!(
            (lock.word.load(Ordering::Relaxed), lock.turns.load(Ordering::Relaxed)),
            (FREE, 16 * EACH)
        );
    }

    #[test]
    fn who_comes_after_one_that_waited_in_vain_waits_less() {
        let is_stuck = AtomicBool::new(true);
        let lock = Lock { word: AtomicU32::new(HELD), is_stuck, turns: AtomicU32::default() };
        assert!(lock.hold().is_none());
        lock.word.store(FREE, Ordering::Release);
        assert!(lock.hold().is_some());
        assert!(!lock.is_stuck.load(Ordering::Relaxed));
    }
}
