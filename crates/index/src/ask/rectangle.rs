//! Adds up the parts of answers, several at a time.

use std::ops::Range;
use std::slice;

use heapscribe_analyze::input::History;
use heapscribe_formats::Source;
use rayon::prelude::*;

use super::edges::Events;
use super::plan::{Edge, Part, Plan, Use};
use super::sums::Sums;
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
            let plan = Plan::new(questions, self.axis());
            let sections = || self.sections(&plan, questions.len());
            let (sums, at_edges) = rayon::join(sections, || self.edges(&plan, events));
            let mut sums = sums?;
            for (number, key, amount) in at_edges {
                if let Some(key) = self.keys.find(key) {
                    sums[number].add(u64::from(key.0), amount);
                }
            }
            for (number, (question, mut sums)) in questions.iter().zip(sums).enumerate() {
                if let Death::After(ns) = question.death {
                    sums.retain(|key| !self.had_ended(self.keys()[key.0 as usize].process, ns));
                }
                take(n * at_once + number, sums);
            }
        }
        Ok(())
    }

    /// What sections add to each question.
    fn sections(&self, plan: &Plan, questions: usize) -> Result<Vec<Sums>, IndexError> {
        let none = || vec![Sums::new(self.keys().len()); questions];
        let sections: Vec<Section<'_>> = plan.sections.iter().collect();
        // Sums are large where there are many keys: no more of them than keep all cores busy.
        let at_once = sections.len().div_ceil(4 * rayon::current_num_threads()).max(1);
        let add = |mut sums: Vec<Sums>, some: &[Section<'_>]| {
            some.iter().try_for_each(|(section, uses)| self.add(**section, uses, &mut sums))?;
            Ok::<_, IndexError>(sums)
        };
        let both = |sums: Vec<Sums>, more: Vec<Sums>| {
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

    fn add(
        &self,
        (kind, number): (Kind, u32),
        uses: &[Use<Part>],
        sums: &mut [Sums],
    ) -> Result<(), IndexError> {
        match kind {
            Kind::Survivors => {
                for rows in self.sections.each::<5>(kind, number) {
                    let rows = rows?;
                    for Use { question, sign, what } in uses {
                        if let Part::Survivors { born, deaths } = what {
                            let add = &mut |key, amount| sums[*question].add(key, sign.of(amount));
                            self.add_survivors(number, &rows, (born, deaths), add);
                        }
                    }
                }
            }
            Kind::Died | Kind::StepDied => {
                let rows = self.sections.rows::<4>(kind, number)?;
                for Use { question, sign, what } in uses {
                    if let Part::ByBirth(births) = what {
                        add_by_birth(&rows, births, &mut |key, amount| {
                            sums[*question].add(key, sign.of(amount));
                        });
                    }
                }
            }
            _ => {
                let rows = self.sections.rows::<3>(kind, number)?;
                for Use { question, sign, .. } in uses {
                    add_by_key(&rows, &mut |key, amount| sums[*question].add(key, sign.of(amount)));
                }
            }
        }
        Ok(())
    }

    fn add_survivors(
        &self,
        leaf: u32,
        rows: &Rows<5>,
        (born, deaths): (&Span, &Range<u32>),
        add: &mut impl FnMut(u64, Amount),
    ) {
        let deaths = u64::from(deaths.start)..u64::from(deaths.end);
        let mut ns = self.axis().begin_ns(leaf);
        rows.each(rows.all(), |[more_ns, later, key, blocks, bytes]| {
            ns = ns.wrapping_add(more_ns);
            if born.contains(ns) && deaths.contains(&u64::from(leaf).wrapping_add(later)) {
                add(key, amount(blocks, bytes));
            }
        });
    }
}

fn add_by_key(rows: &Rows<3>, add: &mut impl FnMut(u64, Amount)) {
    let mut key = 0u64;
    rows.each(rows.all(), |[more, blocks, bytes]| {
        key = key.wrapping_add(more);
        add(key, amount(blocks, bytes));
    });
}

fn add_by_birth(rows: &Rows<4>, births: &Range<u32>, add: &mut impl FnMut(u64, Amount)) {
    let begin = rows.first_at_least(u64::from(births.start));
    let end = rows.first_at_least(u64::from(births.end));
    let (mut before, mut key) = (u64::MAX, 0u64);
    rows.each(begin..end, |[birth, more, blocks, bytes]| {
        key = if birth == before { key.wrapping_add(more) } else { more };
        before = birth;
        add(key, amount(blocks, bytes));
    });
}

const fn amount(blocks: u64, bytes: u64) -> Amount {
    Amount { blocks: blocks as i64, bytes: bytes as i64 }
}
