//! Lifetimes, by classes: two are a tenfold of time. An index has sums by class, so that blocks of a lifetime, and a map
//! of all lifetimes, need no events.

use heapscribe_analyze::input::Clock;

/// How many classes of lifetimes there are.
pub(crate) const AGES: usize = 24;
/// Where they begin, ns; the last one has no end.
pub const AGES_NS: [u64; AGES] = [
    0,
    100,
    300,
    1_000,
    3_000,
    10_000,
    30_000,
    100_000,
    300_000,
    1_000_000,
    3_000_000,
    10_000_000,
    30_000_000,
    100_000_000,
    300_000_000,
    1_000_000_000,
    3_000_000_000,
    10_000_000_000,
    30_000_000_000,
    100_000_000_000,
    300_000_000_000,
    1_000_000_000_000,
    3_000_000_000_000,
    10_000_000_000_000,
];

/// The class of a lifetime, ns.
pub(crate) fn class(age_ns: u64) -> usize {
    AGES_NS.partition_point(|begin_ns| *begin_ns <= age_ns).saturating_sub(1)
}

/// The classes of lifetimes from one to another, ns, where both are ends of classes; `u64::MAX` is that of the last.
pub(crate) fn classes(from_ns: u64, to_ns: u64) -> Option<std::ops::Range<u64>> {
    let first = AGES_NS.binary_search(&from_ns).ok()?;
    let end = if to_ns == u64::MAX { AGES } else { AGES_NS.binary_search(&to_ns).ok()? };
    Some(first as u64..end as u64)
}

/// The classes in ticks of a process.
#[derive(Clone, Debug)]
pub(crate) struct AgeTicks {
    /// By the number of bits of a lifetime: the class of the shortest one, and where the next class begins. No two begin
    /// among the lifetimes of as many bits, as each begins at three times the one before.
    by_bits: [(u8, u64); u64::BITS as usize + 1],
}

impl AgeTicks {
    /// Of a process with this clock.
    pub(crate) fn new(clock: &Clock) -> AgeTicks {
        let begins = AGES_NS.map(|ns| clock.span_ticks(ns));
        let of_bits = |bits: usize| {
            let shortest = bits.checked_sub(1).map_or(0, |bit| 1u64 << bit);
            let next = begins.partition_point(|begin| *begin <= shortest).max(1);
            ((next - 1) as u8, begins.get(next).copied().unwrap_or(u64::MAX))
        };
        AgeTicks { by_bits: std::array::from_fn(of_bits) }
    }

    /// The class of a lifetime.
    #[inline(always)]
    pub(crate) fn class(&self, age_ticks: u64) -> u8 {
        let (class, next) = self.by_bits[(u64::BITS - age_ticks.leading_zeros()) as usize];
        class + u8::from(age_ticks >= next && next != u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_in_ticks_are_those_in_ns() {
        for ns_per_tick_q32 in [1, 1 << 31, 1_789_569_706, (1 << 32) - 1, 1 << 32, 41 << 32, 1 << 42, 1 << 53]
        {
            let clock = Clock { ns_per_tick_q32, ..Clock::default() };
            let ages = AgeTicks::new(&clock);
            let of_begins = AGES_NS.iter().map(|ns| clock.span_ticks(*ns));
            let around =
                of_begins.flat_map(|ticks| [ticks.saturating_sub(1), ticks, ticks.saturating_add(1)]);
            for ticks in around.chain((0..u64::BITS).map(|bit| 1 << bit)).chain([0, u64::MAX]) {
                // A length of more than 584 years has no number of ns.
                if (u128::from(ticks) * u128::from(ns_per_tick_q32)) >> 96 == 0 {
                    assert_eq!(
                        usize::from(ages.class(ticks)),
                        class(clock.span_ns(ticks)),
                        "{ticks} {ns_per_tick_q32}"
                    );
                }
            }
        }
    }

    #[test]
    fn lifetimes_between_ends_of_classes_are_some_of_them() {
        for (from_ns, to_ns, expected) in [
            (0, u64::MAX, Some(0..24)),
            (0, 100, Some(0..1)),
            (300, 10_000, Some(2..5)),
            (10_000_000_000_000, u64::MAX, Some(23..24)),
            (301, 10_000, None),
            (300, 10_001, None),
        ] {
            assert_eq!(classes(from_ns, to_ns), expected, "{from_ns} {to_ns}");
        }
    }
}
