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
    /// There are at most [`LEAVES_MAX`](crate::axis::LEAVES_MAX).
    death_leaf: u16,
    /// The class of its lifetime.
    age: u8,
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
                death_leaf: death_leaf as u16,
                age: one.age,
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
            out.section(Kind::Survivors, leaf, &rows(leaf, &survivors))?;
        }
        self.count = 0;
        Ok(())
    }
}

/// Rows of birth, as a difference, leaves until death, key, blocks, bytes, class of lifetimes.
fn rows(leaf: u32, survivors: &[Survivor]) -> Vec<[u64; 6]> {
    let mut before_ns = 0;
    let row = |place: usize| {
        let one = &survivors[place];
        let ns = one.birth_ns - before_ns;
        before_ns = one.birth_ns;
        let [blocks, bytes] = one.amount.columns();
        let later = u64::from(u32::from(one.death_leaf) - leaf);
        [ns, later, u64::from(one.key.0), blocks, bytes, u64::from(one.age)]
    };
    by_birth(survivors).into_iter().map(row).collect()
}

/// Bits of a place among those of a leaf.
const PLACE_BITS: u32 = 20;

/// The places of those of a leaf, sorted by their birth. Numbers of birth and place are sorted, which takes half the time
/// of moving them about themselves.
fn by_birth(survivors: &[Survivor]) -> Vec<usize> {
    let last_ns = survivors.iter().map(|one| one.birth_ns).max().unwrap_or(0);
    if last_ns.leading_zeros() < PLACE_BITS || survivors.len() >> PLACE_BITS != 0 {
        let mut places: Vec<usize> = (0..survivors.len()).collect();
        places.sort_by_key(|place| survivors[*place].birth_ns);
        return places;
    }
    let numbered = survivors.iter().zip(0..).map(|(one, place)| one.birth_ns << PLACE_BITS | place);
    let numbers = sorted(numbered.collect(), u64::BITS - last_ns.leading_zeros());
    numbers.into_iter().map(|number| (number & ((1 << PLACE_BITS) - 1)) as usize).collect()
}

/// Bits that a pass over all numbers sorts by.
const DIGIT_BITS: u32 = 11;
/// With fewer numbers, counting digits takes longer than comparing them.
const COUNTED_MIN: usize = 1 << 11;

/// Sorts numbers of birth and place, where those of birth have so many bits and places ascend already.
fn sorted(mut numbers: Vec<u64>, birth_bits: u32) -> Vec<u64> {
    if numbers.len() < COUNTED_MIN {
        numbers.sort_unstable();
        return numbers;
    }
    let mut other = vec![0; numbers.len()];
    for shift in (0..birth_bits).step_by(DIGIT_BITS as usize) {
        let digit = |number: u64| (number >> (PLACE_BITS + shift)) as usize & ((1 << DIGIT_BITS) - 1);
        let mut places = [0usize; 1 << DIGIT_BITS];
        numbers.iter().for_each(|number| places[digit(*number)] += 1);
        let mut before = 0;
        for place in &mut places {
            before += std::mem::replace(place, before);
        }
        for number in &numbers {
            let place = &mut places[digit(*number)];
            other[*place] = *number;
            *place += 1;
        }
        std::mem::swap(&mut numbers, &mut other);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sorted by birth, and those of one birth as they were.
    fn check(count: u64, step: u64) {
        let one = |n: u64| Survivor {
            birth_ns: n * 7 % 100 * step,
            death_leaf: 1,
            age: 0,
            key: KeyId(n as u32),
            amount: Amount::new(n, n),
        };
        let survivors: Vec<Survivor> = (0..count).map(one).collect();
        let mut expected: Vec<usize> = (0..count as usize).collect();
        expected.sort_by_key(|place| survivors[*place].birth_ns);
        assert_eq!(by_birth(&survivors), expected, "{count} {step}");
    }

    #[test]
    fn survivors_are_sorted_by_birth_whatever_their_births_are() {
        for count in [0, 1, 100, COUNTED_MIN as u64, 5_000] {
            for step in [0, 1, 77_777, 1 << 31, 1 << 52] {
                check(count, step);
            }
        }
    }
}
