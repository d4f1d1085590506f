//! The recorder's one lock: for what is rare - a new stack, a new module, a new thread, more memory.
//!
//! It is taken with all signals held back, so no handler can run, or jump away, while it is held; never
//! while a function of the program or of the loader is called; and never waited for without end: whoever
//! does not get it in time - longer while others do - drops what it was wanted for, counted. It lives in
//! memory that is zero in a forked child, so a child never finds it taken by a thread that it does not have.
//!
//! The two system calls that hold signals back are most of what a new stack takes. The only thread of a process does without
//! ([`Lock::hold_alone`]) for what can be left at any instruction: nobody waits for it, a handler's calls of the heap are not
//! recorded while a hook is under way, and the next hook after a handler that jumped away gives the lock back.
//!
//! Who waits sleeps in the kernel until it is given back (a futex), in the order of coming. Naps in its place took
//! the processors from the thread that had it, when thousands waited with little time to run: 5,000 threads under
//! `nice -n 19` beside four busy programs lost up to 2,000 calls. Where the kernel or a filter refuses that, they nap.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use heapscribe_nolibc::sys::{self, Slept};

use super::thread_pointer::thread_pointer;

const FREE: u32 = 0;
const HELD: u32 = 1;
/// While it is held: somebody may sleep for it.
const WANTED: u32 = 2;
/// While it is held: with signals coming, by [`Lock::alone`].
const ALONE: u32 = 4;

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
    /// The thread that takes it with signals coming.
    alone: AtomicUsize,
}

/// The lock is held while this lives, and signals are held back, unless it is held alone.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    lock: &'a Lock,
    signals: Option<sys::SignalsBlocked>,
}

impl Held<'_> {
    /// Whether no handler runs meanwhile, so that what is begun is ended: system calls that give memory want that.
    pub(crate) fn holds_signals_back(&self) -> bool {
        self.signals.is_some()
    }
}

impl Lock {
    /// Takes the lock; `None` when nobody has had it for five seconds, or it could not be had in a minute.
    pub(crate) fn hold(&self) -> Option<Held<'_>> {
        let signals = sys::SignalsBlocked::new();
        let is_taken = self.spin() || (!self.is_interrupted() && self.wait());
        is_taken.then(|| {
            self.turns.store(self.turns.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
            if self.is_stuck.load(Ordering::Relaxed) {
                self.is_stuck.store(false, Ordering::Relaxed);
            }
            Held { lock: self, signals: Some(signals) }
        })
    }

    /// Takes the lock with signals coming, for the only thread that there is; `None` when it is not free.
    #[inline]
    pub(crate) fn hold_alone(&self) -> Option<Held<'_>> {
        self.alone.store(thread_pointer(), Ordering::Relaxed);
        self.take(HELD | ALONE).then(|| Held { lock: self, signals: None })
    }

    /// Gives back what the calling thread has taken with signals coming, in a hook that a handler has jumped out of.
    pub(crate) fn release_abandoned(&self) {
        if self.is_interrupted() {
            self.release();
        }
    }

    /// Whether the calling thread has taken it with signals coming: this is a handler, or that was left.
    fn is_interrupted(&self) -> bool {
        let is_alone = self.word.load(Ordering::Relaxed) & ALONE != 0;
        is_alone && self.alone.load(Ordering::Relaxed) == thread_pointer()
    }

    fn take(&self, word: u32) -> bool {
        self.word.compare_exchange(FREE, word, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn release(&self) {
        if self.word.swap(FREE, Ordering::Release) & WANTED != 0 {
            sys::futex_wake(&self.word);
        }
    }

    fn spin(&self) -> bool {
        (0..SPINS).any(|_| {
            let is_taken = self.word.load(Ordering::Relaxed) == FREE && self.take(HELD);
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
            let before = self.word.fetch_or(HELD | WANTED, Ordering::Acquire);
            if before == FREE {
                return true;
            }
            if quiet_ns >= quiet_max || slept_ns >= SLEEP_NS_MAX {
                break;
            }
            let ns = self.sleep(before | WANTED, SLEEP_NS.min(quiet_max));
            let now = self.turns.load(Ordering::Relaxed);
            quiet_ns = if now == turns { quiet_ns + ns } else { 0 };
            slept_ns += ns;
            turns = now;
        }
        self.is_stuck.store(true, Ordering::Relaxed);
        false
    }

    /// Sleeps while this is its word, until it is given back. Gives the whole time when it was not.
    fn sleep(&self, word: u32, ns: u64) -> u64 {
        match sys::futex_wait(&self.word, word, ns) {
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
        self.lock.release();
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
        let lock = Lock { word: AtomicU32::new(HELD), is_stuck, ..Lock::default() };
        assert!(lock.hold().is_none());
        lock.word.store(FREE, Ordering::Release);
        assert!(lock.hold().is_some());
        assert!(!lock.is_stuck.load(Ordering::Relaxed));
    }
    #[test]
    fn what_is_held_alone_is_waited_for_by_others_and_not_by_its_own_handlers() {
        let lock = Lock::default();
        let held = lock.hold_alone().unwrap();
        assert!(!held.holds_signals_back() && lock.hold_alone().is_none() && lock.hold().is_none());
        std::thread::scope(|scope| {
            let other = scope.spawn(|| lock.hold().is_some_and(|held| held.holds_signals_back()));
            while lock.word.load(Ordering::Relaxed) & WANTED == 0 {
                std::thread::yield_now();
            }
            drop(held);
            assert!(other.join().unwrap());
        });
        assert_eq!(lock.word.load(Ordering::Relaxed), FREE);
    }

    #[test]
    fn what_was_left_is_given_back_by_the_thread_that_had_it() {
        let lock = Lock::default();
        std::mem::forget(lock.hold_alone().unwrap());
        std::thread::scope(|scope| scope.spawn(|| lock.release_abandoned()).join().unwrap());
        assert!(lock.hold().is_none());
        lock.release_abandoned();
        let held = lock.hold().unwrap();
        lock.release_abandoned(); // which is not alone
        assert!(lock.hold_alone().is_none());
        drop(held);
        assert!(lock.hold_alone().is_some());
    }
}
