//! A file without room for more leaves the file system alone for a number of calls, twice as many each time: a search
//! takes the recorder's lock and asks the kernel, and the program would do so in each of its calls. Room that comes
//! back is found, as late as it has been missing.

use core::sync::atomic::{AtomicU32, Ordering};

/// How often the number of calls is doubled: to 65,536.
const DOUBLINGS_MAX: u32 = 16;

/// When room is looked for. Zeroed: at once. Threads that count at the same time may count one call for two.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    calls_left: AtomicU32,
    failures: AtomicU32,
}

impl Refusals {
    /// Whether this call does not look for room.
    pub(crate) fn is_refused(&self) -> bool {
        let left = self.calls_left.load(Ordering::Relaxed);
        self.calls_left.store(left.saturating_sub(1), Ordering::Relaxed);
        left > 0
    }

    /// There was none.
    pub(crate) fn fail(&self) {
        let failures = self.failures.load(Ordering::Relaxed);
        self.calls_left.store(1 << failures.min(DOUBLINGS_MAX), Ordering::Relaxed);
        self.failures.store(failures.saturating_add(1), Ordering::Relaxed);
    }

    /// There was some.
    pub(crate) fn clear(&self) {
        self.failures.store(0, Ordering::Relaxed);
    }

    /// How often there was none, since there was some.
    #[cfg(test)]
    pub(crate) fn failures(&self) -> u32 {
        self.failures.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused_in_a_row(refusals: &Refusals) -> usize {
        (0..1 << 20).take_while(|_| refusals.is_refused()).count()
    }

    #[test]
    fn calls_double_up_to_a_limit_and_begin_anew() {
        let refusals = Refusals::default();
        let after_failure = |_| {
            refusals.fail();
            refused_in_a_row(&refusals)
        };
        assert_eq!(refused_in_a_row(&refusals), 0);
        let counts: Vec<_> = (0..19).map(after_failure).collect();
        let expected: Vec<_> = (0..19).map(|failure| 1 << failure.min(16)).collect();
        assert_eq!(counts, expected);
        refusals.clear();
        assert_eq!(refused_in_a_row(&refusals), 0);
        assert_eq!(after_failure(0), 1);
    }
}
