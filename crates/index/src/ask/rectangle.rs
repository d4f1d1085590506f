//! Adds up the parts of answers, several at a time.

use std::slice;

use heapscribe_analyze::input::History;
use heapscribe_formats::Source;
use rayon::prelude::*;

use super::edges::Events;
use super::plan::{Edge, Plan, Use};
use super::sums::{Gather, Sums, Total};
use crate::ages::classes;
use crate::amount::Amount;
use crate::file::IndexError;
use crate::key::{Key, KeyFilter};
use crate::open::Index;
use crate::question::{Death, Question, Span};

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
        filter: Option<KeyFilter<'_>>,
        events: &Events<'_, H>,
    ) -> Result<Vec<Amount>, IndexError> {
        let has_ended =
            |question: &Question| matches!(question.death, Death::After(ns) if self.has_any_ended(ns));
        if questions.iter().any(has_ended) {
            // What went with a process is told by key.
            let mut totals = vec![Amount::default(); questions.len()];
            self.ask_each(questions, events, &mut |number, mut sums| {
                sums.retain(|key| filter.is_none_or(|is_wanted| is_wanted(&self.keys()[key.0 as usize])));
                totals[number] = sums.total();
            })?;
            return Ok(totals);
        }
        let wanted = self.wanted(filter);
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

    /// What events add to each question, by its number.
    fn edges<H: History>(&self, plan: &Plan, events: &Events<'_, H>) -> Vec<(usize, Key, Amount)> {
        let leaves: Vec<_> = plan.events.iter().collect();
        let of_leaf = |(leaf, uses): &(&u32, &Vec<Use<Edge>>)| {
            let edges: Vec<Edge> = uses.iter().map(|of| of.what).collect();
            let mut given = Vec::new();
            for (n, key, amount) in events.of_leaf(self.axis(), **leaf, &edges) {
                uses[n].give(amount, |question, amount| given.push((question, key, amount)));
            }
            given
        };
        leaves.par_iter().flat_map_iter(of_leaf).collect()
    }
}
