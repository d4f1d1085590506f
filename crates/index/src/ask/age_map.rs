//! A map of lifetimes: blocks by when they were born, in columns, and by how long they lived, in the classes of
//! [`AGES_NS`](crate::AGES_NS). Columns that begin and end with leaves are sums of the index; leaves that lie in several
//! columns, or in part in one, are decoded, and give what died young. What outlived its leaf is listed with its birth
//! and the class of its lifetime.

use std::collections::BTreeSet;
use std::ops::Range;

use heapscribe_analyze::input::History;
use heapscribe_formats::Source;
use rayon::prelude::*;

use super::ages::AgeMap;
use super::bounds::Bounds;
use super::edges::Events;
use super::fold::Change;
use super::leaves::{Leaves, in_leaves};
use super::sections::{amount, each_numbered, each_of_key};
use crate::ages::{AGES, class};
use crate::amount::Amount;
use crate::file::{IndexError, Kind};
use crate::key::KeyFilter;
use crate::open::Index;
use crate::question::Span;

/// A step or a leaf that lies in a column as a whole.
#[derive(Clone, Copy)]
enum Whole {
    Step(u32),
    Leaf(u32),
}

/// What a map is made of.
#[derive(Default)]
struct Parts {
    /// With the column they lie in.
    whole: Vec<(Whole, usize)>,
    /// Leaves that lie in several columns, or in part in one.
    partial: BTreeSet<u32>,
}

/// So many whole steps are columns enough: each is one section, where leaves are many.
const STEPS_MIN: usize = 40;

impl<S: Source + Sync> Index<S> {
    /// About so many columns of a time, each of whole leaves but for the first and the last one.
    pub fn age_bounds(&self, time: &Span, columns: u64) -> Bounds {
        let (axis, leaves) = (self.axis(), Leaves::of(time, self.axis()));
        let (steps, whole) = (leaves.steps(axis), leaves.whole);
        let (first, per_column) = match steps.len() >= STEPS_MIN {
            true => (steps.start * axis.leaves_per_step(), axis.leaves_per_step()),
            false => (whole.start, (whole.len() as u64).div_ceil(columns.max(1)).max(1) as u32),
        };
        let begins = (first..whole.end).step_by(per_column as usize).map(|leaf| axis.begin_ns(leaf));
        let inner = begins.filter(|ns| time.contains(*ns));
        Bounds::new([time.from_ns].into_iter().chain(inner).chain([time.to_ns]).collect())
    }

    /// Adds blocks up by column of birth and class of lifetime, those of the keys that are wanted; of all where none are
    /// told.
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn age_map<H: History>(
        &self,
        bounds: &Bounds,
        filter: Option<KeyFilter<'_>>,
        events: &Events<'_, H>,
    ) -> Result<AgeMap, IndexError> {
        let parts = self.parts(bounds, filter.is_some());
        let wanted = self.wanted(filter);
        let has = |key: u64| wanted.as_ref().is_none_or(|wanted| wanted.get(key as usize) == Some(&true));
        let whole = || match &wanted {
            None => self.all_of_leaves(&parts.whole, bounds.columns()),
            Some(_) => self.sums_of(&parts.whole, bounds.columns(), &has),
        };
        let partial = || {
            let young = self.young_in(&parts.partial, bounds, filter, events);
            Ok(young.and(&self.survivors_in(&parts.partial, bounds, &has)?))
        };
        let (whole, partial): (Result<_, IndexError>, Result<AgeMap, IndexError>) =
            rayon::join(whole, partial);
        Ok(whole?.and(&partial?))
    }

    fn parts(&self, bounds: &Bounds, takes_steps: bool) -> Parts {
        let (axis, mut parts) = (self.axis(), Parts::default());
        for column in 0..bounds.columns() {
            let leaves = Leaves::of(&bounds.span(column), axis);
            let steps = if takes_steps { leaves.steps(axis) } else { 0..0 };
            let in_steps = in_leaves(&steps, axis);
            parts.whole.extend(steps.map(|step| (Whole::Step(step), column)));
            let strips = leaves.whole.filter(|leaf| !in_steps.contains(leaf));
            parts.whole.extend(strips.map(|leaf| (Whole::Leaf(leaf), column)));
            parts.partial.extend(leaves.partial);
        }
        parts
    }

    /// Of all keys together.
    fn all_of_leaves(&self, whole: &[(Whole, usize)], columns: usize) -> Result<AgeMap, IndexError> {
        let mut map = AgeMap::new(columns);
        let mut column_of = vec![None; self.axis().leaves() as usize];
        for (part, column) in whole {
            if let Whole::Leaf(leaf) = part {
                column_of[*leaf as usize] = Some(*column);
            }
        }
        let column_of = |leaf: u64| column_of.get(usize::try_from(leaf).ok()?).copied().flatten();
        for (leaf, [blocks, bytes]) in self.sections.rows::<2>(Kind::Allocated, 0)?.iter().enumerate() {
            if let Some(column) = column_of(leaf as u64) {
                map.born[column].add(amount(blocks, bytes));
            }
        }
        for [leaf, age, blocks, bytes] in self.sections.rows::<4>(Kind::Ages, 0)?.iter() {
            if let Some(column) = column_of(leaf) {
                map.died(age, column, amount(blocks, bytes));
            }
        }
        Ok(map)
    }

    /// Of the keys that are wanted.
    fn sums_of(
        &self,
        whole: &[(Whole, usize)],
        columns: usize,
        has: &(impl Fn(u64) -> bool + Sync),
    ) -> Result<AgeMap, IndexError> {
        let none = || AgeMap::new(columns);
        let add = |map: AgeMap, (part, column): &(Whole, usize)| self.add_whole(map, *part, *column, has);
        let per_run = whole.len().div_ceil(4 * rayon::current_num_threads()).max(1);
        let runs = whole.par_chunks(per_run).map(|run| run.iter().try_fold(none(), add));
        runs.try_reduce(none, |map, more| Ok(map.and(&more)))
    }

    fn add_whole(
        &self,
        mut map: AgeMap,
        part: Whole,
        column: usize,
        has: &impl Fn(u64) -> bool,
    ) -> Result<AgeMap, IndexError> {
        let (born, ages, number) = match part {
            Whole::Step(step) => (Kind::StepBorn, Kind::StepAges, step),
            Whole::Leaf(leaf) => (Kind::Born, Kind::Young, leaf),
        };
        let (mut allocated, mut freed) = (Amount::default(), [Amount::default(); AGES]);
        each_of_key(&self.sections.rows(born, number)?, |key, amount| {
            if has(key) {
                allocated.add(amount);
            }
        });
        for rows in self.sections.each(ages, number) {
            each_numbered(&rows?, 0..AGES as u64, |age, key, amount| {
                // Of a damaged index, classes may be any.
                if let Some(sum) = freed.get_mut(age as usize).filter(|_| has(key)) {
                    sum.add(amount);
                }
            });
        }
        map.born[column].add(allocated);
        freed.into_iter().zip(0..).for_each(|(amount, age)| map.died(age, column, amount));
        if let Whole::Leaf(leaf) = part {
            self.add_survivors(&mut map, leaf, |_| Some(column), has)?;
        }
        Ok(map)
    }

    fn add_survivors(
        &self,
        map: &mut AgeMap,
        leaf: u32,
        column_of: impl Fn(u64) -> Option<usize>,
        has: &impl Fn(u64) -> bool,
    ) -> Result<(), IndexError> {
        for rows in self.sections.each(Kind::Survivors, leaf) {
            self.each_survivor(leaf, &rows?, |one| {
                if let Some(column) = column_of(one.born_ns).filter(|_| has(one.key)) {
                    map.died(one.age, column, one.amount);
                }
            });
        }
        Ok(())
    }

    /// What was born in these leaves, and outlived its leaf.
    fn survivors_in(
        &self,
        leaves: &BTreeSet<u32>,
        bounds: &Bounds,
        has: &(impl Fn(u64) -> bool + Sync),
    ) -> Result<AgeMap, IndexError> {
        let none = || AgeMap::new(bounds.columns());
        let of_leaf = |leaf: &u32| {
            let mut map = none();
            self.add_survivors(&mut map, *leaf, |ns| bounds.of(ns), has)?;
            Ok(map)
        };
        leaves.par_iter().map(of_leaf).try_reduce(none, |map, more| Ok(map.and(&more)))
    }

    /// What was born in these leaves, and died in the leaf of its birth.
    fn young_in<H: History>(
        &self,
        leaves: &BTreeSet<u32>,
        bounds: &Bounds,
        filter: Option<KeyFilter<'_>>,
        events: &Events<'_, H>,
    ) -> AgeMap {
        let none = || AgeMap::new(bounds.columns());
        let mut all = none();
        for run in runs(leaves) {
            let time = self.time_of(&run);
            let add = |map: &mut AgeMap, change: Change| match change {
                Change::Born { key, amount, ns, .. } if time.contains(ns) => {
                    if let Some(column) =
                        bounds.of(ns).filter(|_| filter.is_none_or(|is_wanted| is_wanted(&key)))
                    {
                        map.born[column].add(amount);
                    }
                }
                Change::Died { key, amount, born_ns, ns, age_ns, .. }
                    if time.contains(born_ns) && self.axis().leaf(born_ns) == self.axis().leaf(ns) =>
                {
                    if let Some(column) =
                        bounds.of(born_ns).filter(|_| filter.is_none_or(|is_wanted| is_wanted(&key)))
                    {
                        map.died(class(age_ns) as u64, column, amount);
                    }
                }
                _ => {}
            };
            all = events.fold(&time, none, add).iter().fold(all, AgeMap::and);
        }
        all
    }

    fn time_of(&self, leaves: &Range<u32>) -> Span {
        let end_ns = self.axis().end_ns(leaves.end - 1);
        Span { from_ns: self.axis().begin_ns(leaves.start), to_ns: end_ns.unwrap_or(u64::MAX) }
    }
}

/// Leaves that follow each other.
fn runs(leaves: &BTreeSet<u32>) -> Vec<Range<u32>> {
    let leaves: Vec<u32> = leaves.iter().copied().collect();
    leaves.chunk_by(|a, b| a + 1 == *b).map(|run| run[0]..run[run.len() - 1] + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_that_follow_each_other_are_read_together() {
        assert_eq!(runs(&BTreeSet::from([1, 2, 3, 7, 9, 10])), [1..4, 7..8, 9..11]);
        assert_eq!(runs(&BTreeSet::new()), []);
    }
}
