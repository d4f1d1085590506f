//! From the clocks of events and of dumps to CLOCK_MONOTONIC, so that one can be compared with the other.

use heapscribe_wire::head::{ClockKind, Head};

/// Nanoseconds per value of a time stamp counter of unknown rate: 2.5 GHz.
const NOMINAL_NS: f64 = 0.4;

/// The line through two moments that are known on both clocks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TickLine {
    /// None where the ticks are not those of a counter.
    counter: Option<Counter>,
    shift: u32,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Counter {
    value: u64,
    mono_ns: u64,
    ns: f64,
}

impl TickLine {
    /// Of a process, through an early and a later moment: the counter and CLOCK_MONOTONIC, where there is a counter. Without
    /// an early one it begins where the process does, which may have been interrupted between the two.
    pub fn new(head: &Head<'_>, early: Option<(u64, u64)>, later: Option<(u64, u64)>) -> TickLine {
        let shift = head.clock_shift.min(31);
        let created = (head.created_ticks.checked_shl(shift).unwrap_or(0), head.created_mono_ns);
        let begin = early.unwrap_or(created);
        let counter = (head.clock_kind == ClockKind::Tsc as u32).then(|| Counter::new(begin, later));
        TickLine { counter, shift }
    }

    /// When a tick of the process was.
    pub fn mono_ns(&self, ticks: u64) -> u64 {
        let units = ticks.checked_shl(self.shift).filter(|units| units >> self.shift == ticks);
        units.map_or(u64::MAX, |units| self.counter.map_or(units, |counter| counter.mono_ns(units)))
    }

    /// When the time stamp counter had this value; not known where ticks of the process are others.
    pub fn of_counter(&self, value: u64) -> Option<u64> {
        self.counter.map(|counter| counter.mono_ns(value))
    }
}

impl Counter {
    fn new(begin: (u64, u64), later: Option<(u64, u64)>) -> Counter {
        let (value, mono_ns) = begin;
        let rate = later.and_then(|later| {
            let values = later.0.checked_sub(value).filter(|n| *n > 0)?;
            Some(later.1.checked_sub(mono_ns)? as f64 / values as f64)
        });
        // Counters run at 0.1 to 20 GHz.
        let ns = rate.filter(|rate| (0.05..=10.0).contains(rate)).unwrap_or(NOMINAL_NS);
        Counter { value, mono_ns, ns }
    }

    fn mono_ns(&self, value: u64) -> u64 {
        let ns = |values: u64| (values as f64 * self.ns) as u64;
        match value.checked_sub(self.value) {
            Some(after) => self.mono_ns.saturating_add(ns(after)),
            None => self.mono_ns.saturating_sub(ns(self.value - value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_the_monotonic_clock_are_shifted() {
        let line = TickLine { counter: None, shift: 4 };
        assert_eq!((line.mono_ns(100), line.mono_ns(u64::MAX), line.of_counter(100)), (1600, u64::MAX, None));
    }

    #[test]
    fn a_counter_has_the_rate_between_two_moments() {
        let counter = Some(Counter::new((32_000, 5_000), Some((96_000, 37_000))));
        let line = TickLine { counter, shift: 5 };
        assert_eq!((line.mono_ns(1_000), line.mono_ns(3_000), line.mono_ns(900)), (5_000, 37_000, 3_400));
        assert_eq!(line.of_counter(34_000), Some(6_000));
        for later in [None, Some((32_000, 9_000)), Some((33_000, 4_000)), Some((33_000, u64::MAX))] {
            assert_eq!(Counter::new((32_000, 5_000), later).ns, NOMINAL_NS, "{later:?}");
        }
    }
}
