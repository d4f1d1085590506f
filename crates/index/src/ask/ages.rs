//! Blocks by how long they lived. A free says the age of its block to the tick, which sums of leaves do not: these
//! answers are made of the events from the first birth on. So is what happened in many short stretches of time.

use std::collections::HashMap;
use std::ops::Range;

use heapscribe_analyze::events::{BlockChange, Scale};
use heapscribe_analyze::input::History;
use heapscribe_wire::record::{Block, Event};
use rayon::prelude::*;

use super::edges::{Events, TimedChunk};
use crate::amount::Amount;
use crate::key::{Key, SizeClass};
use crate::question::Span;

/// Equal stretches of time, from one moment on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Columns {
    /// When the first one begins, ns.
    pub begin_ns: u64,
    /// How long each is, ns.
    pub step_ns: u64,
    /// How many there are.
    pub count: usize,
}

impl Columns {
    pub(super) fn of(&self, ns: u64) -> Option<usize> {
        let column = (ns.checked_sub(self.begin_ns)? / self.step_ns.max(1)) as usize;
        (column < self.count).then_some(column)
    }
}

/// Blocks by time of birth, and those that were freed by age, too.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgeMap {
    /// What was allocated in each column.
    pub born: Vec<Amount>,
    /// What of it was freed at each age: `freed[age][column]`.
    pub freed: Vec<Vec<Amount>>,
}

impl AgeMap {
    fn new(columns: usize, ages: usize) -> AgeMap {
        AgeMap { born: vec![Amount::default(); columns], freed: vec![vec![Amount::default(); columns]; ages] }
    }

    fn and(mut self, other: &AgeMap) -> AgeMap {
        let add = |sums: &mut Vec<Amount>, more: &Vec<Amount>| {
            sums.iter_mut().zip(more).for_each(|(sum, amount)| sum.add(*amount));
        };
        add(&mut self.born, &other.born);
        self.freed.iter_mut().zip(&other.freed).for_each(|(sums, more)| add(sums, more));
        self
    }
}

/// What is counted over time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Density {
    /// Blocks when they were allocated.
    Allocated,
    /// Blocks when they were freed.
    Freed,
}

/// All from a moment on.
fn from(from_ns: u64) -> Span {
    Span { from_ns, to_ns: u64::MAX }
}

/// What an event did to a block.
pub(super) enum Change {
    Born { key: Key, amount: Amount, size_bytes: u64, ns: u64 },
    Died { key: Key, amount: Amount, size_bytes: u64, born_ns: u64, ns: u64, age_ns: u64 },
}

impl<H: History> Events<'_, H> {
    /// Blocks that were born in one time and freed in another, and lived so long, ns.
    pub fn aged(&self, born: &Span, died: &Span, age_ns: &Range<u64>) -> HashMap<Key, Amount> {
        let sums = self.fold(&from(born.from_ns), HashMap::<Key, Amount>::new, |mut sums, change| {
            if let Change::Died { key, amount, born_ns, ns, age_ns: age, .. } = change
                && born.contains(born_ns)
                && died.contains(ns)
                && age_ns.contains(&age)
            {
                sums.entry(key).or_default().add(amount);
            }
            sums
        });
        let mut all = HashMap::<Key, Amount>::new();
        sums.into_iter().flatten().for_each(|(key, amount)| all.entry(key).or_default().add(amount));
        all
    }

    /// Adds blocks up by column of birth and by age, of which those are given that the rows begin at, ns.
    pub fn age_map(
        &self,
        columns: &Columns,
        begins_ns: &[u64],
        is_wanted: &(impl Fn(&Key) -> bool + Sync),
    ) -> AgeMap {
        let none = || AgeMap::new(columns.count, begins_ns.len());
        let maps = self.fold(&from(columns.begin_ns), none, |mut map, change| {
            match change {
                Change::Born { key, amount, ns, .. } => {
                    if let Some(column) = columns.of(ns).filter(|_| is_wanted(&key)) {
                        map.born[column].add(amount);
                    }
                }
                Change::Died { key, amount, born_ns, age_ns, .. } => {
                    let age = begins_ns.partition_point(|begin_ns| *begin_ns <= age_ns).checked_sub(1);
                    if let (Some(column), Some(age)) = (columns.of(born_ns), age)
                        && is_wanted(&key)
                    {
                        map.freed[age][column].add(amount);
                    }
                }
            }
            map
        });
        maps.iter().fold(none(), AgeMap::and)
    }

    /// Adds up in each column what was allocated in it, or what was freed in it, whenever that was allocated.
    pub fn density(
        &self,
        columns: &Columns,
        of: Density,
        is_wanted: &(impl Fn(&Key) -> bool + Sync),
    ) -> Vec<Amount> {
        let length_ns = columns.step_ns.saturating_mul(columns.count as u64);
        let time = Span { from_ns: columns.begin_ns, to_ns: columns.begin_ns.saturating_add(length_ns) };
        let none = || vec![Amount::default(); columns.count];
        let sums = self.fold(&time, none, |mut sums, change| {
            let (key, amount, ns) = match (of, change) {
                (Density::Allocated, Change::Born { key, amount, ns, .. })
                | (Density::Freed, Change::Died { key, amount, ns, .. }) => (key, amount, ns),
                _ => return sums,
            };
            if let Some(column) = columns.of(ns).filter(|_| is_wanted(&key)) {
                sums[column].add(amount);
            }
            sums
        });
        sums.into_iter().fold(none(), |mut all, more| {
            all.iter_mut().zip(more).for_each(|(sum, amount)| sum.add(amount));
            all
        })
    }

    /// Goes over all chunks that reach into a stretch of time, several at a time: a sum for each run of them.
    pub(super) fn fold<T: Send>(
        &self,
        time: &Span,
        none: impl Fn() -> T + Sync,
        add: impl Fn(T, Change) -> T + Sync,
    ) -> Vec<T> {
        let reaches_in = |chunk: &&TimedChunk| chunk.begin_ns < time.to_ns && chunk.last_ns >= time.from_ns;
        let chunks: Vec<&TimedChunk> = self.chunks.iter().filter(reaches_in).collect();
        let per_run = chunks.len().div_ceil(4 * rayon::current_num_threads()).max(1);
        let run = |run: &[&TimedChunk]| {
            let (mut sum, mut scratch) = (none(), H::Scratch::default());
            for chunk in run {
                sum = self.fold_chunk(chunk, &mut scratch, sum, &add);
            }
            sum
        };
        chunks.par_chunks(per_run).map(run).collect()
    }

    fn fold_chunk<T>(
        &self,
        chunk: &TimedChunk,
        scratch: &mut H::Scratch,
        mut sum: T,
        add: &impl Fn(T, Change) -> T,
    ) -> T {
        let facts = &chunk.facts;
        let Ok(events) = self.history.events(chunk.number, scratch) else {
            self.cannot_read(chunk);
            return sum;
        };
        let clock = &self.clocks[facts.process];
        let (mut ticks, mut scale) = (facts.begin_ticks, Scale::new(facts.thread));
        let mean_of = |rate| self.rates.mean(facts.process, rate);
        let key = |block: &BlockChange, thread: u32| {
            let size = SizeClass::of(block.size_bytes);
            Key { process: facts.process as u32, stack: block.stack, thread, size }
        };
        let amount = |block: &BlockChange| Amount::new(block.weight.blocks, block.weight.bytes);
        for item in events {
            let Ok((dt, event)) = item else {
                self.cannot_read(chunk);
                break;
            };
            if scale.follow(&event, mean_of) || matches!(event, Event::Took { .. }) {
                continue;
            }
            ticks = ticks.wrapping_add(dt);
            let changes = scale.changes(&event, ticks);
            if let (Some(freed), Event::Free { block, .. } | Event::Realloc { old: block, .. }) =
                (changes.freed, event)
            {
                let Block { age_ticks, birth_thread, .. } = block;
                let thread = birth_thread.map_or(facts.thread, |thread| thread.0);
                let (born_ns, ns) = (clock.ns(ticks.wrapping_sub(age_ticks)), clock.ns(ticks));
                let age_ns = clock.span_ns(age_ticks);
                let (key, amount, size_bytes) = (key(&freed, thread), amount(&freed), freed.size_bytes);
                sum = add(sum, Change::Died { key, amount, size_bytes, born_ns, ns, age_ns });
            }
            if let Some(block) = changes.allocated {
                let (key, amount, size_bytes) = (key(&block, facts.thread), amount(&block), block.size_bytes);
                sum = add(sum, Change::Born { key, amount, size_bytes, ns: clock.ns(ticks) });
            }
        }
        sum
    }
}
