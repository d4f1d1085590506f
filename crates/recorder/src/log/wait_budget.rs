//! How long a process waits in all whose log has hardly any chunks, because the file system that it is on is full or
//! a limit leaves it no room.
//!
//! Waiting for the drainer pays as long as much is written between two waits. The drainer paces itself by an eighth of
//! a log (see `pace` in `collect`), so a log that has less is full again each time before it looks, and the program
//! would sleep nearly all the time: 400,000 calls that take 0.06 s took 31 s with a single chunk of 16 KiB. Such a log
//! has a budget for the whole life of its process. While it lasts nothing is lost, which is enough for a program with
//! few calls; after it what finds no chunk is dropped, and counted. A log with more chunks waits as long as the drainer
//! is there: then the program is slowed to what the drainer can take, which is what the plan asks for.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::silence::NAP_NS;

/// Time of all waits together, those of several threads at the same time added up.
const BUDGET_NS: u64 = 100_000_000;
/// Naps of all waits together, where the clock stands still.
const NAPS_MAX: u32 = (BUDGET_NS / NAP_NS) as u32;

/// What a short log has spent of its budget.
#[derive(Debug, Default)]
pub(super) struct WaitBudget {
    naps: AtomicU32,
    spent_ns: AtomicU64,
}

impl WaitBudget {
    /// Whether so many chunks are too few for waits without end, of so many that the plan has.
    pub(super) const fn is_for(chunks: usize, planned: usize) -> bool {
        chunks < planned.div_ceil(8)
    }

    /// Whether nobody waits any more.
    pub(super) fn is_spent(&self) -> bool {
        self.naps.load(Ordering::Relaxed) >= NAPS_MAX || self.spent_ns.load(Ordering::Relaxed) >= BUDGET_NS
    }

    /// After a nap that took so long.
    pub(super) fn spend(&self, nap_ns: u64) {
        self.naps.fetch_add(1, Ordering::Relaxed);
        self.spent_ns.fetch_add(nap_ns, Ordering::Relaxed);
    }

    /// How often somebody slept.
    #[cfg(test)]
    pub(super) fn naps(&self) -> u32 {
        self.naps.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_an_eighth_of_the_plan_is_too_few() {
        for (chunks, planned, expected) in [
            (0, 64, true),
            (1, 64, true),
            (7, 64, true),
            (8, 64, false),
            (64, 64, false),
            (0, 2, true),
            (1, 2, false),
            (1, 9, true),
            (2, 9, false),
        ] {
            assert_eq!(WaitBudget::is_for(chunks, planned), expected, "{chunks} of {planned}");
        }
    }

    /// After so many naps of that length it is spent.
    fn check(nap_ns: u64, expected: u32) {
        let budget = WaitBudget::default();
        let mut naps = 0;
        while !budget.is_spent() {
            budget.spend(nap_ns);
            naps += 1;
        }
        assert_eq!(naps, expected, "naps of {nap_ns} ns");
    }

    #[test]
    fn it_is_spent_by_the_clock_or_by_naps_where_that_stands_still() {
        check(NAP_NS, 1000);
        check(2 * NAP_NS, 500);
        check(NAP_NS + NAP_NS / 2, 667);
        check(10_000_000_000, 1);
        check(0, 1000);
    }
}
