//! Which events of a process are wanted, in its ticks: no time of an event becomes ns.

use std::ops::{Range, RangeInclusive};

use heapscribe_analyze::input::Clock;

use super::plan::Edge;
use crate::question::Span;

/// What is wanted for some edges, by their numbers.
#[derive(Debug)]
pub(super) struct Wanted {
    born: Vec<(usize, Range<u64>)>,
    died: Vec<(usize, Died)>,
    edges: usize,
    end: u64,
}

#[derive(Debug)]
struct Died {
    born: Range<u64>,
    died: Range<u64>,
    age: RangeInclusive<u64>,
}

impl Wanted {
    /// Of these edges, as far as they lie in a leaf.
    pub(super) fn new(edges: &[Edge], in_leaf: &Span, clock: &Clock) -> Wanted {
        let mut wanted = Wanted { born: Vec::new(), died: Vec::new(), edges: edges.len(), end: 0 };
        for (number, edge) in edges.iter().enumerate() {
            let end = match edge {
                Edge::Born(born) => {
                    let born = in_ticks(&born.and(in_leaf), clock);
                    let end = born.end;
                    wanted.born.push((number, born));
                    end
                }
                Edge::Died { born, died, age } => {
                    let died = in_ticks(&died.and(in_leaf), clock);
                    let end = died.end;
                    let (born, age) = (in_ticks(born, clock), ages_in_ticks(age, clock));
                    wanted.died.push((number, Died { born, died, age }));
                    end
                }
            };
            wanted.end = wanted.end.max(end);
        }
        wanted
    }

    /// How many edges there are.
    pub(super) fn edges(&self) -> usize {
        self.edges
    }

    /// From these ticks on nothing is wanted.
    #[inline(always)]
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The edges that want what is born now.
    #[inline(always)]
    pub(super) fn born(&self, ticks: u64) -> impl Iterator<Item = usize> {
        self.born.iter().filter(move |(_, born)| born.contains(&ticks)).map(|(number, _)| *number)
    }

    /// The edges that want what dies now at such an age.
    #[inline(always)]
    pub(super) fn died(&self, ticks: u64, age_ticks: u64) -> impl Iterator<Item = usize> {
        let born = ticks.wrapping_sub(age_ticks);
        let is_in = move |of: &Died| {
            of.died.contains(&ticks) && of.born.contains(&born) && of.age.contains(&age_ticks)
        };
        self.died.iter().filter(move |(_, of)| is_in(of)).map(|(number, _)| *number)
    }
}

/// Lifetimes in ticks: those whose ns lie between these.
fn ages_in_ticks(age: &Span, clock: &Clock) -> RangeInclusive<u64> {
    let last = match age.to_ns {
        u64::MAX => u64::MAX,
        ns => clock.span_ticks(ns).saturating_sub(1),
    };
    clock.span_ticks(age.from_ns)..=last
}

/// A stretch of time in ticks: those whose ns lie in it.
fn in_ticks(span: &Span, clock: &Clock) -> Range<u64> {
    let first = |ns| match ns {
        0 => 0,
        u64::MAX => u64::MAX,
        ns => clock.first_tick_at(ns),
    };
    first(span.from_ns)..first(span.to_ns)
}
