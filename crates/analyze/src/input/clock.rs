//! From the ticks of a process to CLOCK_MONOTONIC ns and back.

/// How the ticks of a process become CLOCK_MONOTONIC ns: a straight line, so that no two threads are
/// reordered by it and ages are the same wherever they are converted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    /// A moment in ticks.
    pub origin_ticks: u64,
    /// The same moment, ns.
    pub origin_ns: u64,
    /// Length of a tick in units of 2^-32 ns; at least 1 ns for times to be as fine as ticks.
    pub ns_per_tick_q32: u64,
    /// Right shift that made ticks of the clock's own units.
    pub unit_shift: u32,
}

impl Default for Clock {
    /// Ticks that are ns.
    fn default() -> Self {
        Clock { origin_ticks: 0, origin_ns: 0, ns_per_tick_q32: 1 << 32, unit_shift: 0 }
    }
}

impl Clock {
    /// A moment, ns.
    pub fn ns(&self, ticks: u64) -> u64 {
        let distance = i128::from(ticks) - i128::from(self.origin_ticks);
        let ns = i128::from(self.origin_ns) + ((distance * i128::from(self.ns_per_tick_q32)) >> 32);
        ns.clamp(0, i128::from(u64::MAX)) as u64
    }

    /// A length of time, ns.
    #[inline(always)]
    pub fn span_ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.ns_per_tick_q32)) >> 32) as u64
    }

    /// The least length of time, in ticks, that has at least so many ns.
    pub fn span_ticks(&self, ns: u64) -> u64 {
        let ticks = (u128::from(ns) << 32).div_ceil(u128::from(self.ns_per_tick_q32.max(1)));
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }

    /// A length of time in the clock's own units, ns, to the nearest, as a dump has it.
    #[inline(always)]
    pub fn units_ns(&self, units: u64) -> u64 {
        let shift = 32 + self.unit_shift.min(31);
        let ns = (u128::from(units) * u128::from(self.ns_per_tick_q32) + (1 << (shift - 1))) >> shift;
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    /// The first tick that is not before `ns`.
    pub fn first_tick_at(&self, ns: u64) -> u64 {
        let distance = i128::from(ns) - i128::from(self.origin_ns);
        let per_tick = i128::from(self.ns_per_tick_q32.max(1));
        let ticks = i128::from(self.origin_ticks) - (-(distance << 32)).div_euclid(per_tick);
        ticks.clamp(0, i128::from(u64::MAX)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_rounded_to_the_nearest_ns() {
        let of = |ns_per_tick_q32, unit_shift| Clock { ns_per_tick_q32, unit_shift, ..Clock::default() };
        for (clock, units, expected) in [
            (of(8 << 32, 4), 3, 2), // 1.5 ns
            (of(8 << 32, 4), 1, 1), // 0.5 ns
            (of((8 << 32) - 16, 4), 1, 0),
            (of(1 << 32, 0), 77, 77),
            (of(u64::MAX, 0), u64::MAX, u64::MAX),
        ] {
            assert_eq!(clock.units_ns(units), expected, "{clock:?} {units}");
        }
    }

    #[test]
    fn the_first_tick_at_a_moment_is_the_first() {
        for q in [1 << 32, 16 << 32, (13 << 32) + 12_345_678, 3 << 30] {
            let (origin_ticks, origin_ns) = (100_000, 50_000);
            let clock = Clock { origin_ticks, origin_ns, ns_per_tick_q32: q, ..Clock::default() };
            for ns in [40_000, 49_999, 50_000, 50_001, 50_016, 77_777, 1 << 40] {
                let tick = clock.first_tick_at(ns);
                assert!(clock.ns(tick) >= ns && clock.ns(tick - 1) < ns, "{clock:?} at {ns}");
            }
        }
    }
}
