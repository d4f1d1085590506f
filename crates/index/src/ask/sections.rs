//! What sections of an index add to answers.

use std::ops::Range;

use heapscribe_formats::Source;
use rayon::prelude::*;

use super::plan::{Part, Plan, Use};
use super::sums::Gather;
use crate::amount::Amount;
use crate::file::{IndexError, Kind, Rows};
use crate::open::Index;

/// A section, and what is taken of it.
type Section<'a> = (&'a (Kind, u32), &'a Vec<Use<Part>>);

impl<S: Source + Sync> Index<S> {
    /// What sections add to each question.
    pub(super) fn sections<T: Gather>(&self, plan: &Plan, none: &[T]) -> Result<Vec<T>, IndexError> {
        let none = || none.to_vec();
        let sections: Vec<Section<'_>> = plan.sections.iter().collect();
        // Sums are large where there are many keys: no more of them than keep all cores busy.
        let at_once = sections.len().div_ceil(4 * rayon::current_num_threads()).max(1);
        let add = |mut sums: Vec<T>, some: &[Section<'_>]| {
            some.iter().try_for_each(|(section, uses)| self.add(**section, uses, &mut sums))?;
            Ok::<_, IndexError>(sums)
        };
        let both = |sums: Vec<T>, more: Vec<T>| {
            Ok(sums.into_iter().zip(&more).map(|(sums, more)| sums.and(more)).collect())
        };
        sections.par_chunks(at_once).try_fold(none, add).try_reduce(none, both)
    }

    fn add<T: Gather>(
        &self,
        (kind, number): (Kind, u32),
        uses: &[Use<Part>],
        sums: &mut [T],
    ) -> Result<(), IndexError> {
        match kind {
            Kind::Survivors => {
                for rows in self.sections.each::<6>(kind, number) {
                    let rows = rows?;
                    uses.iter().for_each(|of| self.add_survivors_of(number, &rows, of, sums));
                }
            }
            Kind::Died | Kind::StepDied | Kind::Young | Kind::StepAges => {
                for rows in self.sections.each::<4>(kind, number) {
                    let rows = rows?;
                    for of in uses {
                        let Some(numbers) = numbers(&of.what) else { continue };
                        each_numbered(&rows, numbers, |_, key, amount| {
                            of.give(amount, |n, amount| sums[n].add(key, amount));
                        });
                    }
                }
            }
            Kind::Allocated => {
                let rows = self.sections.rows::<2>(kind, number)?;
                for (leaf, [blocks, bytes]) in (0..).zip(rows.iter()) {
                    add_of_leaf(leaf, amount(blocks, bytes), uses, sums);
                }
            }
            Kind::Ages => {
                let rows = self.sections.rows::<4>(kind, number)?;
                rows.each(rows.all(), |[leaf, _, blocks, bytes]| {
                    add_of_leaf(leaf, amount(blocks, bytes), uses, sums);
                });
            }
            Kind::Deaths => {
                let rows = self.sections.rows::<4>(kind, number)?;
                rows.each(rows.all(), |[death, birth, blocks, bytes]| {
                    for of in uses {
                        if matches!(&of.what, Part::Deaths { births, deaths } if has(deaths, death) && has(births, birth)) {
                            of.give(amount(blocks, bytes), |n, amount| sums[n].add(0, amount));
                        }
                    }
                });
            }
            _ => {
                let rows = self.sections.rows::<3>(kind, number)?;
                for of in uses {
                    each_of_key(&rows, |key, amount| of.give(amount, |n, amount| sums[n].add(key, amount)));
                }
            }
        }
        Ok(())
    }

    fn add_survivors_of<T: Gather>(&self, leaf: u32, rows: &Rows<6>, of: &Use<Part>, sums: &mut [T]) {
        let Part::Survivors { born, deaths, ages } = &of.what else { return };
        let deaths = u64::from(deaths.start)..u64::from(deaths.end);
        self.each_survivor(leaf, rows, |one| {
            if born.contains(one.born_ns) && deaths.contains(&one.death_leaf) && ages.contains(&one.age) {
                of.give(one.amount, |n, amount| sums[n].add(one.key, amount));
            }
        });
    }

    /// The blocks of a leaf that were freed in a later one.
    #[inline(always)]
    pub(super) fn each_survivor(&self, leaf: u32, rows: &Rows<6>, mut take: impl FnMut(Survivor)) {
        let mut born_ns = self.axis().begin_ns(leaf);
        rows.each(rows.all(), |[more_ns, later, key, blocks, bytes, age]| {
            born_ns = born_ns.wrapping_add(more_ns);
            let death_leaf = u64::from(leaf).wrapping_add(later);
            take(Survivor { born_ns, death_leaf, key, age, amount: amount(blocks, bytes) });
        });
    }
}

/// Adds what a leaf has, of all keys, to the questions that want it.
fn add_of_leaf<T: Gather>(leaf: u64, amount: Amount, uses: &[Use<Part>], sums: &mut [T]) {
    for of in uses {
        if matches!(&of.what, Part::Leaves(leaves) if has(leaves, leaf)) {
            of.give(amount, |n, amount| sums[n].add(0, amount));
        }
    }
}

fn has(leaves: &Range<u32>, leaf: u64) -> bool {
    u64::from(leaves.start) <= leaf && leaf < u64::from(leaves.end)
}

/// A block that was freed in a later leaf than that of its birth.
pub(super) struct Survivor {
    pub(super) born_ns: u64,
    pub(super) death_leaf: u64,
    pub(super) key: u64,
    /// The class of its lifetime.
    pub(super) age: u64,
    pub(super) amount: Amount,
}

/// Leaves or steps of birth, or classes of lifetimes, that are taken of a section.
fn numbers(part: &Part) -> Option<Range<u64>> {
    match part {
        Part::ByBirth(births) => Some(u64::from(births.start)..u64::from(births.end)),
        Part::ByAge(ages) => Some(ages.clone()),
        Part::ByKey | Part::Survivors { .. } | Part::Leaves(_) | Part::Deaths { .. } => None,
    }
}

/// Sums by key.
#[inline(always)]
pub(super) fn each_of_key(rows: &Rows<3>, mut take: impl FnMut(u64, Amount)) {
    let mut key = 0u64;
    rows.each(rows.all(), |[more, blocks, bytes]| {
        key = key.wrapping_add(more);
        take(key, amount(blocks, bytes));
    });
}

/// Sums by a number and key: those of some numbers.
#[inline(always)]
pub(super) fn each_numbered(rows: &Rows<4>, numbers: Range<u64>, mut take: impl FnMut(u64, u64, Amount)) {
    let begin = rows.first_at_least(numbers.start);
    let end = rows.first_at_least(numbers.end);
    let (mut before, mut key) = (u64::MAX, 0u64);
    rows.each(begin..end, |[number, more, blocks, bytes]| {
        key = if number == before { key.wrapping_add(more) } else { more };
        before = number;
        take(number, key, amount(blocks, bytes));
    });
}

pub(super) const fn amount(blocks: u64, bytes: u64) -> Amount {
    Amount { blocks: blocks as i64, bytes: bytes as i64 }
}
