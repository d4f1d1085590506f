//! The leaves in ticks of a process, so that no event's time has to be turned into ns.

use heapscribe_analyze::input::Clock;

use crate::axis::Axis;

/// Equal parts of the time of all leaves, in each of which few leaves begin: a search looks at no others.
const PARTS: u64 = 1 << 13;

/// The leaves in ticks.
#[derive(Debug)]
pub(crate) struct LeafTicks {
    clock: Clock,
    /// First tick of each leaf; that of the first is 0.
    begins: Vec<u64>,
    begins_ns: Vec<u64>,
    /// First tick of the second leaf, where the parts begin.
    second: u64,
    /// A part has two to the power of this of ticks.
    part_log2: u32,
    /// The leaf at the begin of each part, and the last leaf.
    parts: Vec<u32>,
}

impl LeafTicks {
    /// Of a process with this clock.
    pub(crate) fn new(axis: &Axis, clock: &Clock) -> LeafTicks {
        let begins_ns = axis.begins_ns().to_vec();
        let first = |(n, ns): (usize, &u64)| if n == 0 { 0 } else { clock.first_tick_at(*ns) };
        let begins: Vec<u64> = begins_ns.iter().enumerate().map(first).collect();
        let last = begins.last().copied().unwrap_or(0);
        let second = begins.get(1).copied().unwrap_or(0);
        let part_log2 = u64::BITS - ((last - second) / PARTS).leading_zeros();
        let leaf = |ticks| begins.partition_point(|begin| *begin <= ticks).saturating_sub(1) as u32;
        let parts = (0..=(last - second) >> part_log2).map(|part| leaf(second + (part << part_log2)));
        let parts = parts.chain([begins.len() as u32 - 1]).collect();
        LeafTicks { clock: *clock, begins, begins_ns, second, part_log2, parts }
    }

    /// The leaf of a moment.
    #[inline]
    pub(crate) fn leaf(&self, ticks: u64) -> u32 {
        let Some(after) = ticks.checked_sub(self.second) else { return 0 };
        let part = ((after >> self.part_log2) as usize).min(self.parts.len() - 2);
        let (low, high) = (self.parts[part], self.parts[part + 1]);
        let begins = &self.begins[low as usize + 1..=high as usize];
        low + begins.partition_point(|begin| *begin <= ticks) as u32
    }

    /// First ticks of a leaf, and first ticks after it.
    pub(crate) fn range(&self, leaf: u32) -> (u64, u64) {
        let leaf = leaf as usize;
        (self.begins[leaf], self.begins.get(leaf + 1).copied().unwrap_or(u64::MAX))
    }

    /// The leaf of a moment, and how many ns it lies after the begin of that.
    #[inline]
    pub(crate) fn place(&self, ticks: u64) -> (u32, u64) {
        let leaf = self.leaf(ticks);
        (leaf, self.clock.ns(ticks).saturating_sub(self.begins_ns[leaf as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_in_the_leaf_that_began_last() {
        let dense = (0..3_000).map(|n| 1_000_000 + n);
        for begins_ns in [
            vec![],
            vec![7],
            vec![0, 1, 2, 3],
            (1..200).map(|n| n * n * n).collect(),
            dense.clone().collect(),
            dense.chain([u64::MAX >> 8]).collect(),
        ] {
            let leaves = LeafTicks::new(&Axis::new(begins_ns.clone()), &Clock::default());
            let around = |ns: &u64| [ns.saturating_sub(1), *ns, ns + 1, ns + 4_000];
            for ticks in begins_ns.iter().flat_map(around).chain([0, 1, u64::MAX]) {
                let expected = leaves.begins.partition_point(|begin| *begin <= ticks) - 1;
                assert_eq!(leaves.leaf(ticks), expected as u32, "{ticks} of {begins_ns:?}");
            }
        }
    }
}
