//! Sleeping until a word of this process's memory changes.
#![allow(unsafe_code)]

use core::sync::atomic::AtomicU32;

use super::errno::Errno;
use super::syscall::{call, number};

const WAIT_PRIVATE: usize = 128;
const WAKE_PRIVATE: usize = 129;

/// How a sleep ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slept {
    /// By [`futex_wake`], by a signal, or before it began, as the word had another value.
    Woken,
    /// After the whole time.
    WholeTime,
    /// This kernel, or a filter of the program's, has no such call.
    Refused,
}

/// Sleeps while `word` is `expected`, for `ns` at most.
pub fn futex_wait(word: &AtomicU32, expected: u32, ns: u64) -> Slept {
    let t = [ns / 1_000_000_000, ns % 1_000_000_000];
    let arguments = [word.as_ptr() as usize, WAIT_PRIVATE, expected as usize, t.as_ptr() as usize, 0, 0];
    // SAFETY: the kernel reads `word`, a word of this process, and `t`, a struct timespec.
    match unsafe { call(number::FUTEX, arguments) } {
        Ok(_) | Err(Errno::EAGAIN | Errno::EINTR) => Slept::Woken,
        Err(Errno::ETIMEDOUT) => Slept::WholeTime,
        Err(_) => Slept::Refused,
    }
}

/// Wakes one of those that sleep for `word`: the one that has slept longest.
pub fn futex_wake(word: &AtomicU32) {
    // SAFETY: the address names a queue of sleepers; nothing is read or written there.
    let _ = unsafe { call(number::FUTEX, [word.as_ptr() as usize, WAKE_PRIVATE, 1, 0, 0, 0]) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::Ordering;

    #[test]
    fn a_sleeper_wakes_in_time_for_another_value_or_when_woken() {
        const MINUTE_NS: u64 = 60_000_000_000;
        let word = AtomicU32::new(7);
        assert_eq!(futex_wait(&word, 7, 1_000), Slept::WholeTime);
        assert_eq!(futex_wait(&word, 8, MINUTE_NS), Slept::Woken);
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| futex_wait(&word, 7, MINUTE_NS));
            word.store(8, Ordering::Relaxed);
            futex_wake(&word);
            assert_eq!(sleeper.join().unwrap(), Slept::Woken);
        });
    }
}
