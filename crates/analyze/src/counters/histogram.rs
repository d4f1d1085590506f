//! Counts by power of two: class 0 holds the value 0, class k those of k bits.

use crate::answer::{LifetimeClass, SizeClass};
use crate::sampling::Weight;

#[derive(Clone, Copy, Debug, Default)]
struct Class {
    count: u64,
    bytes: u64,
}

/// Blocks by the number of bits of some figure of theirs.
#[derive(Clone, Debug)]
pub(crate) struct Histogram([Class; 65]);

impl Default for Histogram {
    fn default() -> Self {
        Histogram([Class::default(); 65])
    }
}

impl Histogram {
    /// Counts a block.
    #[inline(always)]
    pub(crate) fn add(&mut self, figure: u64, weight: Weight) {
        let class = &mut self.0[64 - figure.leading_zeros() as usize];
        class.count += weight.blocks;
        class.bytes = class.bytes.wrapping_add(weight.bytes);
    }

    /// Adds another.
    pub(crate) fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            mine.count += theirs.count;
            mine.bytes = mine.bytes.wrapping_add(theirs.bytes);
        }
    }

    /// The classes that hold something, by size.
    pub(crate) fn sizes(&self) -> Vec<SizeClass> {
        let class = |(from_bytes, to_bytes, c): (u64, u64, &Class)| SizeClass {
            from_bytes,
            to_bytes,
            count: c.count,
            bytes: c.bytes,
        };
        self.used().map(class).collect()
    }

    /// The classes that hold something, by lifetime.
    pub(crate) fn lifetimes(&self) -> Vec<LifetimeClass> {
        let class = |(from_ns, to_ns, c): (u64, u64, &Class)| LifetimeClass {
            from_ns,
            to_ns,
            count: c.count,
            bytes: c.bytes,
        };
        self.used().map(class).collect()
    }

    fn used(&self) -> impl Iterator<Item = (u64, u64, &Class)> {
        self.0.iter().enumerate().filter(|(_, class)| class.count != 0).map(|(bits, class)| {
            let to = u64::MAX.checked_shr(64 - bits as u32).unwrap_or(0);
            (to - to / 2, to, class)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_meet_without_gap() {
        let mut h = Histogram::default();
        for figure in [0, 1, 2, 3, 4, 7, 8, 1 << 63, u64::MAX] {
            h.add(figure, Weight::one(1));
        }
        let ranges: Vec<_> = h.sizes().iter().map(|c| (c.from_bytes, c.to_bytes, c.count)).collect();
        let top = (1 << 63, u64::MAX, 2);
        assert_eq!(ranges, [(0, 0, 1), (1, 1, 1), (2, 3, 2), (4, 7, 2), (8, 15, 1), top]);
    }
}
