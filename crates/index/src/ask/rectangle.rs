//! Adds up the parts of answers, several at a time.

use std::ops::Range;
use std::slice;

use heapscribe_analyze::input::History;
use heapscribe_formats::Source;
use rayon::prelude::*;

use super::edges::Events;
use super::plan::{Edge, Part, Plan, Use};
use super::sums::{Gather, Sums, Total};
use crate::ages::classes;
use crate::amount::Amount;
use crate::file::{IndexError, Kind, Rows};
use crate::key::Key;
use crate::open::Index;
use crate::question::{Death, Question, Span};

/// A section, and what is taken of it.
type Section<'a> = (&'a (Kind, u32), &'a Vec<Use<Part>>);

/// Sums that are added up at a time, as many as all questions have keys: 32 MiB of them, a few times.
const SUMS_MAX: usize = 1 << 21;

impl<S: Source + Sync> Index<S> {
    /// Blocks and bytes by key; exact, with the events of the leaves in which the question begins and ends.
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn ask<H: History>(&self, question: &Question, events: &Events<'_, H>) -> Result<Sums, IndexError> {
        let mut answer = Sums::default();
        self.ask_each(slice::from_ref(question), events, &mut |_, sums| answer = sums)?;
        Ok(answer)
    }

    /// The answers to several questions, each given with its number. What they share is read once.
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn ask_each<H: History>(
        &self,
        questions: &[Question],
        events: &Events<'_, H>,
        take: &mut dyn FnMut(usize, Sums),
    ) -> Result<(), IndexError> {
        let at_once = (SUMS_MAX / self.keys().len().max(1)).max(1);
        for (n, questions) in questions.chunks(at_once).enumerate() {
            let none = vec![Sums::new(self.keys().len()); questions.len()];
            let sums = self.carry_out(&Plan::new(questions, self.axis()), &none, events)?;
            for (number, (question, mut sums)) in questions.iter().zip(sums).enumerate() {
                if let Death::After(ns) = question.death {
                    sums.retain(|key| !self.had_ended(self.keys()[key.0 as usize].process, ns));
                }
                take(n * at_once + number, sums);
            }
        }
        Ok(())
    }

    /// The totals of the answers to several questions, of the keys that are wanted; of all where none are told.
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn totals<H: History>(
        &self,
        questions: &[Question],
        is_wanted: Option<&dyn Fn(&Key) -> bool>,
        events: &Events<'_, H>,
    ) -> Result<Vec<Amount>, IndexError> {
        let has_ended =
            |question: &Question| matches!(question.death, Death::After(ns) if self.has_any_ended(ns));
        if questions.iter().any(has_ended) {
            // What went with a process is told by key.
            let mut totals = vec![Amount::default(); questions.len()];
            let is = |key: &Key| is_wanted.is_none_or(|is_wanted| is_wanted(key));
            self.ask_each(questions, events, &mut |number, sums| {
                let wanted = sums.iter().filter(|(key, _)| is(&self.keys()[key.0 as usize]));
                wanted.for_each(|(_, amount)| totals[number].add(amount));
            })?;
            return Ok(totals);
        }
        let wanted: Option<Vec<bool>> =
            is_wanted.map(|is_wanted| self.keys().iter().map(is_wanted).collect());
        let plan = match wanted {
            None => Plan::totals(questions, self.axis()),
            Some(_) => Plan::new(questions, self.axis()),
        };
        let none = vec![Total::new(wanted.as_deref()); questions.len()];
        Ok(self.carry_out(&plan, &none, events)?.into_iter().map(|total| total.amount()).collect())
    }

    /// Blocks that were born in one time and freed in another, at an age of these classes: from one of
    /// [`AGES_NS`](crate::AGES_NS) to another or to `u64::MAX`. None of other ages, which only the events have.
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn aged<H: History>(
        &self,
        born: &Span,
        died: &Span,
        age_ns: &Span,
        events: &Events<'_, H>,
    ) -> Result<Option<Sums>, IndexError> {
        let Some(classes) = classes(age_ns.from_ns, age_ns.to_ns) else { return Ok(None) };
        let plan = Plan::aged(born, died, (classes, *age_ns), self.axis());
        Ok(self.carry_out(&plan, &[Sums::new(self.keys().len())], events)?.pop())
    }

    /// The answer to each question, of which none has anything yet.
    fn carry_out<H: History, T: Gather>(
        &self,
        plan: &Plan,
        none: &[T],
        events: &Events<'_, H>,
    ) -> Result<Vec<T>, IndexError> {
        let (sums, at_edges) = rayon::join(|| self.sections(plan, none), || self.edges(plan, events));
        let mut sums = sums?;
        for (number, key, amount) in at_edges {
            if let Some(key) = self.keys.find(key) {
                sums[number].add(u64::from(key.0), amount);
            }
        }
        Ok(sums)
    }

    /// What sections add to each question.
    fn sections<T: Gather>(&self, plan: &Plan, none: &[T]) -> Result<Vec<T>, IndexError> {
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

    /// What events add to each question, by its number.
    fn edges<H: History>(&self, plan: &Plan, events: &Events<'_, H>) -> Vec<(usize, Key, Amount)> {
        let leaves: Vec<_> = plan.events.iter().collect();
        let of_leaf = |(leaf, uses): &(&u32, &Vec<Use<Edge>>)| {
            let edges: Vec<Edge> = uses.iter().map(|of| of.what).collect();
            let signed = |(n, key, amount): (usize, Key, Amount)| {
                let Use { question, sign, .. } = uses[n];
                (question, key, sign.of(amount))
            };
            let sums = events.of_leaf(self.axis(), **leaf, &edges);
            sums.into_iter().map(signed).collect::<Vec<_>>()
        };
        leaves.par_iter().flat_map_iter(of_leaf).collect()
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
                    for Use { question, sign, what } in uses {
                        if let Part::Survivors { born, deaths, ages } = what {
                            let deaths = u64::from(deaths.start)..u64::from(deaths.end);
                            self.each_survivor(number, &rows, |one| {
                                if born.contains(one.born_ns)
                                    && deaths.contains(&one.death_leaf)
                                    && ages.contains(&one.age)
                                {
                                    sums[*question].add(one.key, sign.of(one.amount));
                                }
                            });
                        }
                    }
                }
            }
            Kind::Died | Kind::StepDied | Kind::Young | Kind::StepAges => {
                for rows in self.sections.each::<4>(kind, number) {
                    let rows = rows?;
                    for Use { question, sign, what } in uses {
                        if let Some(numbers) = numbers(what) {
                            each_numbered(&rows, numbers, |_, key, amount| {
                                sums[*question].add(key, sign.of(amount));
                            });
                        }
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
                    for Use { question, sign, what } in uses {
                        if matches!(what, Part::Deaths { births, deaths } if has(deaths, death) && has(births, birth)) {
                            sums[*question].add(0, sign.of(amount(blocks, bytes)));
                        }
                    }
                });
            }
            _ => {
                let rows = self.sections.rows::<3>(kind, number)?;
                for Use { question, sign, .. } in uses {
                    each_of_key(&rows, |key, amount| sums[*question].add(key, sign.of(amount)));
                }
            }
        }
        Ok(())
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
    for Use { question, sign, what } in uses {
        if matches!(what, Part::Leaves(leaves) if has(leaves, leaf)) {
            sums[*question].add(0, sign.of(amount));
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
