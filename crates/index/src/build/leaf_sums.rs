//! Sums of a leaf over all chunks, until it is written.

use crate::hash::Table;
use std::io::{self, Write};

use super::local_sums::{ByBirth, LocalSums};
use super::rows::{rows_by_key, rows_by_number};
use super::steps::StepSums;
use crate::amount::Amount;
use crate::file::{Kind, SectionWriter};
use crate::key::KeyId;

/// The sums of a leaf.
#[derive(Debug, Default)]
pub(super) struct LeafSums {
    born: Table<KeyId, Amount>,
    /// By class of lifetimes, those that were born in it, too.
    young: Table<(u32, KeyId), Amount>,
    /// By leaf of birth: those that were born in an earlier one, and when it is written the young ones, too.
    died: Table<(u32, KeyId), Amount>,
}

impl LeafSums {
    /// Adds those of a chunk in this leaf, whose slots have these keys.
    pub(super) fn add(&mut self, sums: &LocalSums, survivors: &ByBirth, keys: &[KeyId]) {
        for (amount, key) in sums.allocated().zip(keys) {
            add(&mut self.born, *key, amount);
        }
        for (slot, age, amount) in sums.young() {
            add(&mut self.young, (u32::from(age), keys[slot as usize]), amount);
        }
        for ((birth_leaf, _, slot), amount) in survivors {
            add(&mut self.died, (*birth_leaf, keys[*slot as usize]), *amount);
        }
    }

    /// Writes its sections, and adds it to its step, which has so many leaves.
    pub(super) fn write<W: Write>(
        mut self,
        leaf: u32,
        (step, per_step): (&mut StepSums, u32),
        out: &mut SectionWriter<W>,
    ) -> io::Result<()> {
        for ((_, key), amount) in &self.young {
            add(&mut self.died, (leaf, *key), *amount);
        }
        step.add(leaf, &self.born, &self.young, &self.died, per_step);
        out.section(Kind::Born, leaf, &rows_by_key(self.born))?;
        out.section(Kind::Young, leaf, &rows_by_number(self.young))?;
        out.section(Kind::Died, leaf, &rows_by_number(self.died))
    }
}

fn add<K: Eq + std::hash::Hash>(sums: &mut Table<K, Amount>, key: K, amount: Amount) {
    if !amount.is_zero() {
        sums.entry(key).or_default().add(amount);
    }
}
