//! Sums of a step, which is a run of leaves: a question over a long time takes whole steps.

use crate::hash::Table;
use std::collections::BTreeMap;
use std::io::{self, Write};

use super::rows::{rows_by_key, rows_by_number};
use crate::amount::Amount;
use crate::file::{Kind, SectionWriter};
use crate::key::KeyId;

/// The sums of a step.
#[derive(Debug, Default)]
pub(super) struct StepSums {
    born: Table<KeyId, Amount>,
    /// By class of lifetimes, of what was freed in the leaf of its birth.
    young: Table<(u32, KeyId), Amount>,
    /// By step of birth.
    died: Table<(u32, KeyId), Amount>,
    /// By leaf of death and leaf of birth, of all keys.
    deaths: BTreeMap<(u32, u32), Amount>,
}

impl StepSums {
    /// Adds a leaf; steps have so many of them.
    pub(super) fn add(
        &mut self,
        leaf: u32,
        born: &Table<KeyId, Amount>,
        young: &Table<(u32, KeyId), Amount>,
        died: &Table<(u32, KeyId), Amount>,
        per_step: u32,
    ) {
        for (key, amount) in born {
            self.born.entry(*key).or_default().add(*amount);
        }
        for (place, amount) in young {
            self.young.entry(*place).or_default().add(*amount);
        }
        for ((birth_leaf, key), amount) in died {
            self.died.entry((birth_leaf / per_step, *key)).or_default().add(*amount);
            self.deaths.entry((leaf, *birth_leaf)).or_default().add(*amount);
        }
    }

    /// Writes its sections.
    pub(super) fn write<W: Write>(self, step: u32, out: &mut SectionWriter<W>) -> io::Result<()> {
        out.section(Kind::StepBorn, step, &rows_by_key(self.born))?;
        out.section(Kind::StepAges, step, &rows_by_number(self.young))?;
        let row = |((death, birth), amount): (&(u32, u32), &Amount)| {
            let [blocks, bytes] = amount.columns();
            [u64::from(*death), u64::from(*birth), blocks, bytes]
        };
        out.section(Kind::Deaths, step, &self.deaths.iter().map(row).collect::<Vec<_>>())?;
        out.section(Kind::StepDied, step, &rows_by_number(self.died))
    }
}
