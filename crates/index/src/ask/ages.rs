//! Blocks by how long they lived, from the events: a free says the age of its block to the tick, of which an index has
//! the class only.

use std::collections::HashMap;

use heapscribe_analyze::input::History;

use super::bounds::Bounds;
use super::edges::Events;
use super::fold::Change;
use crate::ages::{AGES, class};
use crate::amount::Amount;
use crate::key::{Key, KeyFilter};
use crate::question::Span;

/// Blocks by time of birth, and those that were freed by class of lifetime, too.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgeMap {
    /// What was allocated in each column.
    pub born: Vec<Amount>,
    /// What of it was freed at each age: `freed[age][column]`.
    pub freed: Vec<Vec<Amount>>,
}

impl AgeMap {
    pub(super) fn new(columns: usize) -> AgeMap {
        AgeMap { born: vec![Amount::default(); columns], freed: vec![vec![Amount::default(); columns]; AGES] }
    }

    /// Adds what was freed; a class that there is not, of a damaged index, is left out.
    #[inline(always)]
    pub(super) fn died(&mut self, age: u64, column: usize, amount: Amount) {
        if let Some(row) = self.freed.get_mut(age as usize) {
            row[column].add(amount);
        }
    }

    pub(super) fn and(mut self, other: &AgeMap) -> AgeMap {
        let add = |sums: &mut Vec<Amount>, more: &Vec<Amount>| {
            sums.iter_mut().zip(more).for_each(|(sum, amount)| sum.add(*amount));
        };
        add(&mut self.born, &other.born);
        self.freed.iter_mut().zip(&other.freed).for_each(|(sums, more)| add(sums, more));
        self
    }
}

/// All from a moment on.
const fn from(from_ns: u64) -> Span {
    Span { from_ns, to_ns: u64::MAX }
}

impl<H: History> Events<'_, H> {
    /// Blocks that were born in one time and freed in another, and lived so long, ns.
    pub fn aged(&self, born: &Span, died: &Span, age_ns: &Span) -> HashMap<Key, Amount> {
        let sums = self.fold(&from(born.from_ns), HashMap::<Key, Amount>::new, |sums, change| {
            if let Change::Died { key, amount, born_ns, ns, age_ns: age, .. } = change
                && born.contains(born_ns)
                && died.contains(ns)
                && age_ns.contains(age)
            {
                sums.entry(key).or_default().add(amount);
            }
        });
        let mut all = HashMap::<Key, Amount>::new();
        sums.into_iter().flatten().for_each(|(key, amount)| all.entry(key).or_default().add(amount));
        all
    }

    /// Adds blocks up by column of birth and class of lifetime, in a pass over the events from the first column on.
    pub fn age_map(&self, bounds: &Bounds, filter: Option<KeyFilter<'_>>) -> AgeMap {
        let is_wanted = |key: &Key| filter.is_none_or(|is_wanted| is_wanted(key));
        let none = || AgeMap::new(bounds.columns());
        let maps = self.fold(&from(bounds.time().from_ns), none, |map, change| match change {
            Change::Born { key, amount, ns, .. } => {
                if let Some(column) = bounds.of(ns).filter(|_| is_wanted(&key)) {
                    map.born[column].add(amount);
                }
            }
            Change::Died { key, amount, born_ns, age_ns, .. } => {
                if let Some(column) = bounds.of(born_ns).filter(|_| is_wanted(&key)) {
                    map.died(class(age_ns) as u64, column, amount);
                }
            }
        });
        maps.iter().fold(none(), AgeMap::and)
    }
}
