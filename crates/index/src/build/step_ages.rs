//! Lifetimes of what was born in a step and outlived its leaf, by class and key. It comes by leaf of death, long after its
//! step was written; so the sums are kept as long as the blocks themselves are, and are written with them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::local_sums::ByBirth;
use super::rows::rows_by_number;
use crate::amount::Amount;
use crate::file::{Kind, SectionWriter};
use crate::hash::Table;
use crate::key::KeyId;

/// Sums by step of birth.
#[derive(Debug)]
pub(super) struct StepAges {
    per_step: u32,
    by_step: BTreeMap<u32, Table<(u32, KeyId), Amount>>,
}

impl StepAges {
    /// None yet, of steps of so many leaves.
    pub(super) fn new(per_step: u32) -> StepAges {
        StepAges { per_step, by_step: BTreeMap::new() }
    }

    /// Adds those of a chunk, whose slots have these keys.
    pub(super) fn add(&mut self, survivors: &ByBirth, keys: &[KeyId]) {
        for ((birth_leaf, age, slot), amount) in survivors {
            let sums = self.by_step.entry(birth_leaf / self.per_step).or_default();
            sums.entry((u32::from(*age), keys[*slot as usize])).or_default().add(*amount);
        }
    }

    /// Writes them, a section for each step.
    pub(super) fn write<W: Write>(&mut self, out: &mut SectionWriter<W>) -> io::Result<()> {
        for (step, sums) in std::mem::take(&mut self.by_step) {
            out.section(Kind::StepAges, step, &rows_by_number(sums))?;
        }
        Ok(())
    }
}
