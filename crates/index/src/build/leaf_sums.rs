//! Sums of a leaf over all chunks, until it is written.

use crate::hash::Table;
use std::io::{self, Write};

use super::local_sums::LocalSums;
use super::rows::{rows_by_birth, rows_by_key};
use super::steps::StepSums;
use crate::amount::Amount;
use crate::file::{Kind, SectionWriter};
use crate::key::KeyId;

/// The sums of a leaf.
#[derive(Debug, Default)]
pub(super) struct LeafSums {
    born: Table<KeyId, Amount>,
    temporary: Table<KeyId, Amount>,
    /// By leaf of birth.
    died: Table<(u32, KeyId), Amount>,
}

impl LeafSums {
    /// Adds those of a chunk in this leaf, whose slots have these keys.
    pub(super) fn add(&mut self, leaf: u32, sums: &LocalSums, keys: &[KeyId]) {
        for ((_, [born, died, temporary]), key) in sums.rows().zip(keys) {
            add(&mut self.born, *key, *born);
            add(&mut self.died, (leaf, *key), *died);
            add(&mut self.temporary, *key, *temporary);
        }
        for ((birth_leaf, slot), amount) in sums.by_birth() {
            add(&mut self.died, (birth_leaf, keys[slot as usize]), amount);
        }
    }

    /// Writes its sections, and adds it to its step, which has so many leaves.
    pub(super) fn write<W: Write>(
        self,
        leaf: u32,
        (step, per_step): (&mut StepSums, u32),
        out: &mut SectionWriter<W>,
    ) -> io::Result<()> {
        step.add(&self.born, &self.died, per_step);
        out.section(Kind::Born, leaf, &rows_by_key(self.born))?;
        out.section(Kind::Temporary, leaf, &rows_by_key(self.temporary))?;
        out.section(Kind::Died, leaf, &rows_by_birth(self.died))
    }
}

fn add<K: Eq + std::hash::Hash>(sums: &mut Table<K, Amount>, key: K, amount: Amount) {
    if !amount.is_zero() {
        sums.entry(key).or_default().add(amount);
    }
}
