//! Adds up the parts of an answer, several at a time.

use std::ops::Range;

use heapscribe_analyze::input::History;
use heapscribe_formats::Source;
use rayon::prelude::*;

use super::edges::Events;
use super::plan::{Part, Sign, plan};
use super::sums::Sums;
use crate::amount::Amount;
use crate::file::{IndexError, Kind};
use crate::open::Index;
use crate::question::{Death, Question, Span};

impl<S: Source + Sync> Index<S> {
    /// Blocks and bytes by key; exact, with the events of the leaves in which the question begins and ends.
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn ask<H: History>(&self, question: &Question, events: &Events<'_, H>) -> Result<Sums, IndexError> {
        let none = || Sums::new(self.keys().len());
        let add = |mut sums: Sums, (sign, part): &(Sign, Part)| {
            self.add(part, events, &mut |key, amount| sums.add(key, sign.of(amount)))?;
            Ok::<_, IndexError>(sums)
        };
        let parts = plan(question, self.axis());
        let of_threads = parts.par_iter().try_fold(none, add);
        let mut sums = of_threads.try_reduce(none, |sums, more| Ok(sums.and(&more)))?;
        if let Death::After(ns) = question.death {
            sums.retain(|key| !self.had_ended(self.keys()[key.0 as usize].process, ns));
        }
        Ok(sums)
    }

    fn add<H: History>(
        &self,
        part: &Part,
        events: &Events<'_, H>,
        add: &mut impl FnMut(u64, Amount),
    ) -> Result<(), IndexError> {
        match part {
            Part::ByKey { kind, number } => self.add_by_key(*kind, *number, add),
            Part::ByBirth { kind, number, births } => self.add_by_birth(*kind, *number, births, add),
            Part::Survivors { leaf, born, deaths } => self.add_survivors(*leaf, born, deaths, add),
            Part::Events { leaf, edge } => {
                for (key, amount) in events.of_leaf(self.axis(), *leaf, edge) {
                    if let Some(number) = self.keys.find(key) {
                        add(u64::from(number.0), amount);
                    }
                }
                Ok(())
            }
        }
    }

    fn add_by_key(
        &self,
        kind: Kind,
        number: u32,
        add: &mut impl FnMut(u64, Amount),
    ) -> Result<(), IndexError> {
        let mut key = 0u64;
        for [more, blocks, bytes] in self.sections.rows::<3>(kind, number)?.iter() {
            key = key.wrapping_add(more);
            add(key, amount(blocks, bytes));
        }
        Ok(())
    }

    fn add_by_birth(
        &self,
        kind: Kind,
        number: u32,
        births: &Range<u32>,
        add: &mut impl FnMut(u64, Amount),
    ) -> Result<(), IndexError> {
        let rows = self.sections.rows::<4>(kind, number)?;
        let begin = rows.first_at_least(u64::from(births.start));
        let end = rows.first_at_least(u64::from(births.end));
        let (mut before, mut key) = (u64::MAX, 0u64);
        for [birth, more, blocks, bytes] in rows.range(begin..end) {
            key = if birth == before { key.wrapping_add(more) } else { more };
            before = birth;
            add(key, amount(blocks, bytes));
        }
        Ok(())
    }

    fn add_survivors(
        &self,
        leaf: u32,
        born: &Span,
        deaths: &Range<u32>,
        add: &mut impl FnMut(u64, Amount),
    ) -> Result<(), IndexError> {
        let deaths = u64::from(deaths.start)..u64::from(deaths.end);
        for rows in self.sections.each::<5>(Kind::Survivors, leaf) {
            let mut ns = self.axis().begin_ns(leaf);
            for [more_ns, later, key, blocks, bytes] in rows?.iter() {
                ns = ns.wrapping_add(more_ns);
                if born.contains(ns) && deaths.contains(&u64::from(leaf).wrapping_add(later)) {
                    add(key, amount(blocks, bytes));
                }
            }
        }
        Ok(())
    }
}

const fn amount(blocks: u64, bytes: u64) -> Amount {
    Amount { blocks: blocks as i64, bytes: bytes as i64 }
}
