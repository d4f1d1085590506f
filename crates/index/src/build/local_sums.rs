//! Sums over the events of one chunk in one leaf.

use crate::hash::Table;

use crate::amount::Amount;
use crate::slots::{LocalKey, Slots};

/// A block that was freed in a later leaf than that of its birth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Survivor {
    /// Leaf of its birth.
    pub(super) birth_leaf: u32,
    /// Its birth, ns after the begin of that leaf.
    pub(super) birth_ns: u64,
    /// Number of its key.
    pub(super) slot: u32,
    /// The class of its lifetime.
    pub(super) age: u8,
    /// What it stands for.
    pub(super) amount: Amount,
}

/// Blocks that were freed in a later leaf, by leaf of birth, class of lifetimes and slot.
pub(super) type ByBirth = Table<(u32, u8, u32), Amount>;

/// Classes of lifetimes that a key has room for: few have more in one chunk.
const AGES_AT_HAND: usize = 2;

/// What blocks of a key did: one line of the cache.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Row {
    /// Allocated here.
    born: Amount,
    /// Freed here and born in this leaf, by class of lifetimes, those that came first.
    young: [Amount; AGES_AT_HAND],
    ages: [u8; AGES_AT_HAND],
}

impl Row {
    /// The sum of a class of lifetimes, if it has room for that.
    #[inline(always)]
    fn young(&mut self, age: u8) -> Option<&mut Amount> {
        for (sum, of) in self.young.iter_mut().zip(&mut self.ages) {
            if sum.is_zero() {
                *of = age;
            }
            if *of == age {
                return Some(sum);
            }
        }
        None
    }
}

/// The sums.
#[derive(Debug, Default)]
pub(super) struct LocalSums {
    slots: Slots,
    /// By slot.
    rows: Vec<Row>,
    /// By slot and class: freed here and born in this leaf, of more classes than a row has room for.
    other_ages: Table<(u32, u8), Amount>,
    survivors: Vec<Survivor>,
}

impl LocalSums {
    #[inline(always)]
    fn slot(&mut self, key: LocalKey) -> usize {
        let slot = self.slots.number(key);
        if slot == self.rows.len() {
            self.rows.push(Row::default());
        }
        slot
    }

    /// A block was allocated.
    #[inline(always)]
    pub(super) fn born(&mut self, key: LocalKey, amount: Amount) {
        let slot = self.slot(key);
        self.rows[slot].born.add(amount);
    }

    /// A block was freed in the leaf of its birth; it had a lifetime of this class.
    #[inline(always)]
    pub(super) fn died_young(&mut self, key: LocalKey, amount: Amount, age: u8) {
        let slot = self.slot(key);
        match self.rows[slot].young(age) {
            Some(sum) => sum.add(amount),
            None => self.died_at_another_age(slot as u32, amount, age),
        }
    }

    #[cold]
    fn died_at_another_age(&mut self, slot: u32, amount: Amount, age: u8) {
        self.other_ages.entry((slot, age)).or_default().add(amount);
    }

    /// A block was freed that was born in an earlier leaf.
    #[inline(always)]
    pub(super) fn died_old(
        &mut self,
        key: LocalKey,
        amount: Amount,
        age: u8,
        (birth_leaf, birth_ns): (u32, u64),
    ) {
        let slot = self.slot(key) as u32;
        self.survivors.push(Survivor { birth_leaf, birth_ns, slot, age, amount });
    }

    /// Whether there is nothing in them.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Its keys, by slot.
    pub(super) fn keys(&self) -> &[LocalKey] {
        self.slots.keys()
    }

    /// What was allocated, by slot.
    pub(super) fn allocated(&self) -> impl Iterator<Item = Amount> {
        self.rows.iter().map(|row| row.born)
    }

    /// What was freed of what was born in this leaf, by slot and class of lifetimes; each of them once.
    pub(super) fn young(&self) -> impl Iterator<Item = (u32, u8, Amount)> {
        let of_row = |(row, slot): (&Row, u32)| {
            let Row { young, ages, .. } = *row;
            (0..AGES_AT_HAND).map(move |n| (slot, ages[n], young[n]))
        };
        let first = self.rows.iter().zip(0..).flat_map(of_row);
        let others = self.other_ages.iter().map(|((slot, age), amount)| (*slot, *age, *amount));
        first.filter(|(.., amount)| !amount.is_zero()).chain(others)
    }

    /// Blocks that were freed in another leaf than that of their birth.
    pub(super) fn survivors(&self) -> &[Survivor] {
        &self.survivors
    }

    /// The same, summed by leaf of birth, class of lifetimes and slot.
    pub(super) fn by_birth(&self) -> ByBirth {
        let mut sums = ByBirth::default();
        for Survivor { birth_leaf, age, slot, amount, .. } in &self.survivors {
            sums.entry((*birth_leaf, *age, *slot)).or_default().add(*amount);
        }
        sums
    }

    /// Begins anew.
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.rows.clear();
        self.other_ages.clear();
        self.survivors.clear();
    }
}
