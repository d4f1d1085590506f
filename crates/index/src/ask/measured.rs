//! What sums by key do not have: what a heap gives for blocks, which follows from the size of each to the byte, and what
//! threads did in equal steps of time. Both are made of the events.

use std::collections::{BTreeMap, HashMap};

use heapscribe_analyze::input::History;

use super::density::Columns;
use super::edges::Events;
use super::fold::Change;
use super::plan::{Edge, Sign, edges};
use crate::amount::Amount;
use crate::key::{Key, SizeClass};
use crate::question::{Death, Question, Span};

/// Blocks of a class of sizes, and what a heap gives for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GivenBytes {
    /// What was asked for.
    pub asked: Amount,
    /// Bytes that the heap gives for it.
    pub given_bytes: i64,
}

impl GivenBytes {
    fn add(&mut self, asked: Amount, given_bytes: i64) {
        self.asked.add(asked);
        self.given_bytes = self.given_bytes.wrapping_add(given_bytes);
    }
}

/// What of a thread's blocks became more or less in a step of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ThreadStep {
    /// The process and the thread that allocated the blocks.
    pub process: u32,
    /// Its number.
    pub thread: u32,
    /// The step.
    pub step: usize,
    /// Bytes allocated less those freed.
    pub net_bytes: i64,
}

impl<H: History> Events<'_, H> {
    /// How many events have to be read for [`Events::given`].
    pub fn count_of(&self, question: &Question) -> u64 {
        self.count(&time_of(question))
    }

    /// What a heap gives for the blocks of a question, by class of sizes; `given` says what it gives for a size.
    pub fn given(
        &self,
        question: &Question,
        given: impl Fn(u64) -> u64 + Sync,
        is_wanted: &(impl Fn(&Key) -> bool + Sync),
    ) -> BTreeMap<SizeClass, GivenBytes> {
        let ends_ns = self.ends_ns();
        let is_left = |key: &Key| match question.death {
            Death::After(ns) => ends_ns[key.process as usize].is_none_or(|end_ns| end_ns > ns),
            _ => true,
        };
        let edges = edges(question);
        let sums = self.fold(&time_of(question), BTreeMap::<SizeClass, GivenBytes>::new, |sums, change| {
            let (key, amount, size_bytes) = block(&change);
            for (sign, _) in edges.iter().filter(|(_, edge)| is_on(edge, &change)) {
                if is_wanted(&key) && is_left(&key) {
                    let bytes = (given(size_bytes) as i64).wrapping_mul(amount.blocks);
                    let bytes = if *sign == Sign::Plus { bytes } else { bytes.wrapping_neg() };
                    sums.entry(key.size).or_default().add(sign.of(amount), bytes);
                }
            }
        });
        let mut all = BTreeMap::<SizeClass, GivenBytes>::new();
        for (class, more) in sums.into_iter().flatten() {
            all.entry(class).or_default().add(more.asked, more.given_bytes);
        }
        all.retain(|_, sum| *sum != GivenBytes::default());
        all
    }

    /// What threads did in each step, by process, thread and step; what is before the first or after the last is left out.
    pub fn of_threads(&self, columns: &Columns) -> Vec<ThreadStep> {
        let sums = self.fold(&Span::ALL, HashMap::<(u32, u32, usize), i64>::new, |sums, change| {
            let (key, amount, _) = block(&change);
            let (ns, bytes) = match change {
                Change::Born { ns, .. } => (ns, amount.bytes),
                Change::Died { ns, .. } => (ns, amount.bytes.wrapping_neg()),
            };
            if let Some(step) = columns.of(ns) {
                let sum = sums.entry((key.process, key.thread, step)).or_default();
                *sum = sum.wrapping_add(bytes);
            }
        });
        let mut all = BTreeMap::<(u32, u32, usize), i64>::new();
        for (at, bytes) in sums.into_iter().flatten() {
            let sum = all.entry(at).or_default();
            *sum = sum.wrapping_add(bytes);
        }
        let row = |((process, thread, step), net_bytes)| ThreadStep { process, thread, step, net_bytes };
        all.into_iter().map(row).collect()
    }
}

/// The block that an event is about.
fn block(change: &Change) -> (Key, Amount, u64) {
    match change {
        Change::Born { key, amount, size_bytes, .. } | Change::Died { key, amount, size_bytes, .. } => {
            (*key, *amount, *size_bytes)
        }
    }
}

/// Whether an event is one of those that an answer is made of.
fn is_on(edge: &Edge, change: &Change) -> bool {
    match (edge, change) {
        (Edge::Born(born), Change::Born { ns, .. }) => born.contains(*ns),
        (Edge::Died { born, died, .. }, Change::Died { born_ns, ns, .. }) => {
            born.contains(*born_ns) && died.contains(*ns)
        }
        _ => false,
    }
}

/// When the events are of which an answer is made.
fn time_of(question: &Question) -> Span {
    let times = edges(question).into_iter().map(|(_, edge)| match edge {
        Edge::Born(time) | Edge::Died { died: time, .. } => time,
    });
    let first = times.clone().map(|time| time.from_ns).min().unwrap_or(0);
    Span { from_ns: first, to_ns: times.map(|time| time.to_ns).max().unwrap_or(0) }
}
