//! What happened in each of many short stretches of time: bursts and pauses, which sums of leaves do not show.

use std::ops::{ControlFlow, Range};

use heapscribe_analyze::input::{Clock, History};

use super::edges::{Changed, Events, TimedChunk, amount};
use crate::amount::Amount;
use crate::key::KeyFilter;
use crate::question::Span;
use crate::slots::{LocalKey, Slots};

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
    /// The one of a moment.
    pub(super) fn of(&self, ns: u64) -> Option<usize> {
        let column = (ns.checked_sub(self.begin_ns)? / self.step_ns.max(1)) as usize;
        (column < self.count).then_some(column)
    }

    /// All of them.
    pub fn time(&self) -> Span {
        Span { from_ns: self.begin_ns, to_ns: self.begins_ns(self.count) }
    }

    fn begins_ns(&self, column: usize) -> u64 {
        self.begin_ns.saturating_add(self.step_ns.saturating_mul(column as u64))
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

impl<H: History> Events<'_, H> {
    /// Adds up in each column what was allocated in it, or what was freed in it, whenever that was allocated: blocks of the
    /// keys that are wanted, of all where none are told. What is not within a time is left out, as the last column may
    /// reach over its end.
    pub fn density(
        &self,
        columns: &Columns,
        within: &Span,
        of: Density,
        filter: Option<KeyFilter<'_>>,
    ) -> Vec<Amount> {
        let sums = self.runs(&columns.time(), |run| {
            let (mut sums, mut scratch) = (vec![Amount::default(); columns.count], H::Scratch::default());
            run.iter().for_each(|chunk| {
                let mut wanted = Wanted { chunk, filter, slots: Slots::default(), known: Vec::new() };
                let cursor = Cursor::new(columns, within, &self.clocks[chunk.facts.process]);
                self.add_chunk(chunk, of, cursor, &mut wanted, (&mut sums, &mut scratch));
            });
            sums
        });
        sums.into_iter().fold(vec![Amount::default(); columns.count], |mut all, more| {
            all.iter_mut().zip(more).for_each(|(sum, amount)| sum.add(amount));
            all
        })
    }

    fn add_chunk(
        &self,
        chunk: &TimedChunk,
        of: Density,
        mut cursor: Cursor<'_>,
        wanted: &mut Wanted<'_>,
        (sums, scratch): (&mut [Amount], &mut H::Scratch),
    ) {
        self.each_change(chunk, scratch, |ticks, Changed { born, died }| {
            let block = match of {
                Density::Allocated => born.map(|block| (block, chunk.facts.thread)),
                Density::Freed => died.map(|died| (died.block, died.thread)),
            };
            if let Some((block, thread)) = block
                && let Some(column) = cursor.column(ticks)
                && wanted.has(LocalKey::of(&block, thread))
            {
                sums[column].add(amount(&block));
            }
            ControlFlow::Continue(())
        });
    }
}

/// Which keys of a chunk are wanted: each is looked at once.
struct Wanted<'a> {
    chunk: &'a TimedChunk,
    filter: Option<KeyFilter<'a>>,
    slots: Slots,
    known: Vec<bool>,
}

impl Wanted<'_> {
    #[inline(always)]
    fn has(&mut self, key: LocalKey) -> bool {
        let Some(is_wanted) = self.filter else { return true };
        let slot = self.slots.number(key);
        if slot == self.known.len() {
            self.known.push(is_wanted(&key.in_process(self.chunk.facts.process)));
        }
        self.known[slot]
    }
}

/// The column of the last event: most that follow are in it, too, and their time in ticks need not become ns.
struct Cursor<'a> {
    columns: &'a Columns,
    within: &'a Span,
    clock: &'a Clock,
    ticks: Range<u64>,
    column: Option<usize>,
}

impl<'a> Cursor<'a> {
    fn new(columns: &'a Columns, within: &'a Span, clock: &'a Clock) -> Cursor<'a> {
        Cursor { columns, within, clock, ticks: 0..0, column: None }
    }

    #[inline(always)]
    fn column(&mut self, ticks: u64) -> Option<usize> {
        if !self.ticks.contains(&ticks) {
            self.go_to(ticks);
        }
        self.column
    }

    #[cold]
    fn go_to(&mut self, ticks: u64) {
        let ns = self.clock.ns(ticks);
        self.column = self.columns.of(ns).filter(|_| self.within.contains(ns));
        let begins_ns = |column| self.columns.begins_ns(column);
        self.ticks = match self.column {
            Some(column) => {
                let from_ns = begins_ns(column).max(self.within.from_ns);
                let to_ns = begins_ns(column + 1).min(self.within.to_ns);
                self.clock.first_tick_at(from_ns)..self.clock.first_tick_at(to_ns)
            }
            None => ticks..ticks.saturating_add(1),
        };
    }
}
