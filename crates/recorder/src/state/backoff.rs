//! A thread that has found no chunk leaves the log alone for a while, a longer one each time: a search looks at all
//! chunks, and with thousands of threads more than there are chunks nothing else would be done.

use core::cell::Cell;

/// Ticks of the first pause: 0.5 to 2 ms.
const FIRST_TICKS: u64 = 1 << 16;
/// How often it is doubled: to 64 to 256 ms.
const DOUBLINGS_MAX: u32 = 7;

/// When a thread looks again. Zeroed: at once.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    until_ticks: Cell<u64>,
    failures: Cell<u32>,
}

impl Backoff {
    /// Whether the thread does not look now.
    pub(crate) fn is_in_force(&self, now_ticks: u64) -> bool {
        now_ticks < self.until_ticks.get()
    }

    /// It has found nothing.
    pub(crate) fn fail(&self, now_ticks: u64) {
        let failures = self.failures.get();
        self.until_ticks.set(now_ticks.saturating_add(FIRST_TICKS << failures.min(DOUBLINGS_MAX)));
        self.failures.set(failures.saturating_add(1));
    }

    /// It has found one, or is another thread.
    pub(crate) fn clear(&self) {
        self.until_ticks.set(0);
        self.failures.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit() {
        let (backoff, mut now) = (Backoff::default(), 5);
        assert!(!backoff.is_in_force(now));
        for expected in [16, 17, 18, 19, 20, 21, 22, 23, 23, 23] {
            backoff.fail(now);
            assert!(backoff.is_in_force(now + (1 << expected) - 1));
            now += 1 << expected;
            assert!(!backoff.is_in_force(now));
        }
        backoff.clear();
        assert!(!backoff.is_in_force(0));
    }
}
