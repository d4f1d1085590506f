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
    /// What it stands for.
    pub(super) amount: Amount,
}

/// The sums.
#[derive(Debug, Default)]
pub(super) struct LocalSums {
    slots: Slots,
    /// By slot: allocated here; freed here and born in this leaf; freed here by its thread before it allocated
    /// another block.
    rows: Vec<[Amount; 3]>,
    survivors: Vec<Survivor>,
}

impl LocalSums {
    #[inline(always)]
    fn row(&mut self, key: LocalKey) -> (u32, &mut [Amount; 3]) {
        let slot = self.slots.number(key);
        if slot == self.rows.len() {
            self.rows.push(Default::default());
        }
        (slot as u32, &mut self.rows[slot])
    }

    /// A block was allocated.
    #[inline(always)]
    pub(super) fn born(&mut self, key: LocalKey, amount: Amount) {
        self.row(key).1[0].add(amount);
    }

    /// A block was freed in the leaf of its birth.
    #[inline(always)]
    pub(super) fn died_young(&mut self, key: LocalKey, amount: Amount, is_temporary: bool) {
        let row = self.row(key).1;
        row[1].add(amount);
        if is_temporary {
            row[2].add(amount);
        }
    }

    /// A block was freed that was born in an earlier leaf.
    #[inline(always)]
    pub(super) fn died_old(
        &mut self,
        key: LocalKey,
        amount: Amount,
        is_temporary: bool,
        (birth_leaf, birth_ns): (u32, u64),
    ) {
        let (slot, row) = self.row(key);
        if is_temporary {
            row[2].add(amount);
        }
        self.survivors.push(Survivor { birth_leaf, birth_ns, slot, amount });
    }

    /// Whether there is nothing in them.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Its keys with what was allocated, freed young, and freed as a temporary one.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&LocalKey, &[Amount; 3])> {
        self.slots.keys().iter().zip(&self.rows)
    }

    /// Blocks that were freed in another leaf than that of their birth.
    pub(super) fn survivors(&self) -> &[Survivor] {
        &self.survivors
    }

    /// The same, summed by leaf of birth and slot.
    pub(super) fn by_birth(&self) -> Table<(u32, u32), Amount> {
        let mut sums = Table::<_, Amount>::default();
        for survivor in &self.survivors {
            sums.entry((survivor.birth_leaf, survivor.slot)).or_default().add(survivor.amount);
        }
        sums
    }

    /// Begins anew.
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.rows.clear();
        self.survivors.clear();
    }
}
