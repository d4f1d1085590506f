//! The leaves in ticks of a process, so that no event's time has to be turned into ns.

use heapscribe_analyze::input::Clock;

use crate::axis::Axis;

/// The leaves in ticks.
#[derive(Debug)]
pub(crate) struct LeafTicks {
    clock: Clock,
    /// First tick of each leaf; that of the first is 0.
    begins: Vec<u64>,
    begins_ns: Vec<u64>,
}

impl LeafTicks {
    /// Of a process with this clock.
    pub(crate) fn new(axis: &Axis, clock: &Clock) -> LeafTicks {
        let begins_ns = axis.begins_ns().to_vec();
        let first = |(n, ns): (usize, &u64)| if n == 0 { 0 } else { clock.first_tick_at(*ns) };
        LeafTicks { clock: *clock, begins: begins_ns.iter().enumerate().map(first).collect(), begins_ns }
    }

    /// The leaf of a moment.
    pub(crate) fn leaf(&self, ticks: u64) -> u32 {
        self.begins.partition_point(|begin| *begin <= ticks).saturating_sub(1) as u32
    }

    /// First ticks of a leaf, and first ticks after it.
    pub(crate) fn range(&self, leaf: u32) -> (u64, u64) {
        let leaf = leaf as usize;
        (self.begins[leaf], self.begins.get(leaf + 1).copied().unwrap_or(u64::MAX))
    }

    /// The leaf of a moment, and how many ns it lies after the begin of that.
    pub(crate) fn place(&self, ticks: u64) -> (u32, u64) {
        let leaf = self.leaf(ticks);
        (leaf, self.clock.ns(ticks).saturating_sub(self.begins_ns[leaf as usize]))
    }
}
