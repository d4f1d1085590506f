//! Sums of a step, which is a run of leaves: a question over a long time takes whole steps.

use crate::hash::Table;
use std::io::{self, Write};

use super::rows::{rows_by_birth, rows_by_key};
use crate::amount::Amount;
use crate::file::{Kind, SectionWriter};
use crate::key::KeyId;

/// The sums of a step.
#[derive(Debug, Default)]
pub(super) struct StepSums {
    born: Table<KeyId, Amount>,
    /// By step of birth.
    died: Table<(u32, KeyId), Amount>,
}

impl StepSums {
    /// Adds a leaf; steps have so many of them.
    pub(super) fn add(
        &mut self,
        born: &Table<KeyId, Amount>,
        died: &Table<(u32, KeyId), Amount>,
        per_step: u32,
    ) {
        for (key, amount) in born {
            self.born.entry(*key).or_default().add(*amount);
        }
        for ((birth_leaf, key), amount) in died {
            self.died.entry((birth_leaf / per_step, *key)).or_default().add(*amount);
        }
    }

    /// Writes its sections.
    pub(super) fn write<W: Write>(self, step: u32, out: &mut SectionWriter<W>) -> io::Result<()> {
        out.section(Kind::StepBorn, step, &rows_by_key(self.born))?;
        out.section(Kind::StepDied, step, &rows_by_birth(self.died))
    }
}
