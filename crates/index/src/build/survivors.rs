//! Blocks that died in a later leaf than that of their birth, by leaf of birth: a question that begins inside of a leaf
//! has to know each of them. They come by leaf of death; so they are kept until they fill their share of memory, and
//! are written in runs then.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::local_sums::LocalSums;
use crate::amount::Amount;
use crate::file::{Kind, SectionWriter};
use crate::key::KeyId;

/// One of them.
#[derive(Clone, Copy, Debug)]
struct Survivor {
    /// ns after the begin of its leaf of birth.
    birth_ns: u64,
    death_leaf: u32,
    key: KeyId,
    amount: Amount,
}

/// Those that are not written yet.
#[derive(Debug)]
pub(super) struct Survivors {
    by_leaf: BTreeMap<u32, Vec<Survivor>>,
    count: usize,
    max: usize,
}

impl Survivors {
    /// In at most so many bytes of memory.
    pub(super) fn new(bytes_max: usize) -> Survivors {
        // A vector that grows may have room for twice as many.
        Survivors { by_leaf: BTreeMap::new(), count: 0, max: bytes_max / 2 / size_of::<Survivor>() }
    }

    /// Adds those of a chunk in a leaf, whose slots have these keys.
    pub(super) fn add(&mut self, death_leaf: u32, sums: &LocalSums, keys: &[KeyId]) {
        // Most of those that die one after the other were born in one leaf.
        for of_leaf in sums.survivors().chunk_by(|a, b| a.birth_leaf == b.birth_leaf) {
            let leaf = self.by_leaf.entry(of_leaf[0].birth_leaf).or_default();
            leaf.extend(of_leaf.iter().map(|one| Survivor {
                birth_ns: one.birth_ns,
                death_leaf,
                key: keys[one.slot as usize],
                amount: one.amount,
            }));
        }
        self.count += sums.survivors().len();
    }

    /// Whether it is time to write them.
    pub(super) fn is_full(&self) -> bool {
        self.count >= self.max
    }

    /// Writes them, a section for each leaf of birth.
    pub(super) fn write<W: Write>(&mut self, out: &mut SectionWriter<W>) -> io::Result<()> {
        for (leaf, survivors) in std::mem::take(&mut self.by_leaf) {
            let mut before_ns = 0;
            let row = |one: &Survivor| {
                let ns = one.birth_ns - before_ns;
                before_ns = one.birth_ns;
                let [blocks, bytes] = one.amount.columns();
                [ns, u64::from(one.death_leaf - leaf), u64::from(one.key.0), blocks, bytes]
            };
            out.section(Kind::Survivors, leaf, &by_birth(survivors).iter().map(row).collect::<Vec<_>>())?;
        }
        self.count = 0;
        Ok(())
    }
}

/// Bits of a place among those of a leaf.
const PLACE_BITS: u32 = 20;

/// Sorts those of a leaf by their birth. Numbers of birth and place are sorted, which takes half the time of moving them
/// about themselves.
fn by_birth(mut survivors: Vec<Survivor>) -> Vec<Survivor> {
    let last_ns = survivors.iter().map(|one| one.birth_ns).max().unwrap_or(0);
    if last_ns.leading_zeros() < PLACE_BITS || survivors.len() >> PLACE_BITS != 0 {
        survivors.sort_unstable_by_key(|one| one.birth_ns);
        return survivors;
    }
    let numbered = survivors.iter().zip(0..).map(|(one, place)| one.birth_ns << PLACE_BITS | place);
    let mut order: Vec<u64> = numbered.collect();
    order.sort_unstable();
    order.iter().map(|number| survivors[(number & ((1 << PLACE_BITS) - 1)) as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survivors_are_sorted_by_birth_whatever_their_births_are() {
        for step in [1u64, 77_777, 1 << 52] {
            let one = |n: u64| Survivor {
                birth_ns: n * 7 % 100 * step,
                death_leaf: 1,
                key: KeyId(n as u32),
                amount: Amount::new(n, n),
            };
            let sorted = by_birth((0..100).map(one).collect());
            assert!(sorted.is_sorted_by_key(|one| one.birth_ns), "{step}");
            let mut keys: Vec<u32> = sorted.iter().map(|one| one.key.0).collect();
            keys.sort_unstable();
            assert!(keys.into_iter().eq(0..100), "{step}");
        }
    }
}
