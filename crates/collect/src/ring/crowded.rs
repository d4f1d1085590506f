//! A ring whose definitions leave little room for events. (One of 1 MiB evicted all 328,617 events of a program with
//! 112,000 stacks, and nothing said why.)

/// A ring with little room for events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CrowdedRing {
    /// Stacks, modules, names and what is live.
    pub definitions_bytes: u64,
}

impl CrowdedRing {
    /// A ring of so many bytes, half of which or more this takes, as it is needed twice while the trace is made.
    pub(super) fn of(definitions_bytes: u64, ring_bytes: u64) -> Option<CrowdedRing> {
        (4 * definitions_bytes >= ring_bytes).then_some(CrowdedRing { definitions_bytes })
    }

    /// A ring of which that takes half at most, with what it needs twice.
    pub fn enough_bytes(self) -> u64 {
        (4 * self.definitions_bytes).next_power_of_two().max(2 << 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_that_is_large_enough_has_half_for_events() {
        for (definitions_bytes, expected) in [(1, 2 << 20), (262_144, 2 << 20), (5_000_000, 32 << 20)] {
            assert_eq!(CrowdedRing { definitions_bytes }.enough_bytes(), expected);
        }
    }
}
