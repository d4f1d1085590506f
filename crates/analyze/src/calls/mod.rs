//! Every call of the heap at the places that someone asks about: inside sections of a name, after a mark, at
//! a time, by threads of a name. That is what a program with real-time parts must not do there.
//!
//! *You bring* a [`History`] and [`Question`]s. *It guarantees* that each call is counted once for each
//! question that it belongs to, whichever chunk it lies in, in memory that grows with stacks. *It refuses* to
//! know more of a free than the recording does: a free has no stack of its own, so it is counted for the
//! stack that asked for the block.
//!
//! A call that a process was stopped at, because the recording had a rule against it, is one of these, and is
//! counted once, whether its event is there or found no room; of a free, too, it is counted for who called.
//!
//! A mark is a moment of its process: calls of all threads count that come after the first mark of the name.
//! How well that is known between threads is a property of the trace, see [`crate::marks`].

mod pass;
mod row;

pub(crate) use self::row::{CallRow, OneCall};

use std::collections::BTreeMap;

use crate::answer::{CallTree, NodeId};
use crate::input::{Clock, History};
use crate::nodes::{Definitions, Merger};
use crate::rates::Rates;

/// Calls by what they were for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kinds {
    /// Calls that gave a block.
    pub allocations: u64,
    /// Calls that made one block of another.
    pub reallocs: u64,
    /// Calls that took a block back.
    pub frees: u64,
    /// Calls that gave NULL for want of memory.
    pub failed: u64,
}

impl Kinds {
    /// All of them.
    pub fn all(&self) -> u64 {
        [self.allocations, self.reallocs, self.frees, self.failed].into_iter().fold(0, u64::saturating_add)
    }

    /// Adds others.
    pub fn add(&mut self, other: &Kinds) {
        for (mine, theirs) in [
            (&mut self.allocations, other.allocations),
            (&mut self.reallocs, other.reallocs),
            (&mut self.frees, other.frees),
            (&mut self.failed, other.failed),
        ] {
            *mine = mine.saturating_add(theirs);
        }
    }
}

/// The calls of one stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackCalls {
    /// The stack that called; of frees, the one that had asked for the block.
    pub node: NodeId,
    /// How many.
    pub kinds: Kinds,
    /// Bytes that they were given.
    pub bytes: u64,
    /// When the first was, CLOCK_MONOTONIC ns.
    pub first_ns: u64,
    /// How long the slowest took, ns; none where the recording does not say.
    pub worst_ns: Option<u64>,
}

impl StackCalls {
    pub(crate) fn new(node: NodeId, row: &CallRow, clock: &Clock) -> StackCalls {
        let first_ns = clock.ns(row.first_ticks);
        StackCalls { node, kinds: row.kinds, bytes: row.bytes, first_ns, worst_ns: row.worst_ns }
    }

    pub(crate) fn add(&mut self, other: &StackCalls) {
        self.kinds.add(&other.kinds);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.first_ns = self.first_ns.min(other.first_ns);
        self.worst_ns = self.worst_ns.max(other.worst_ns);
    }
}

/// Where calls are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place<'a> {
    /// Inside sections of this name, and sections inside them.
    Section(&'a [u8]),
    /// After the first mark of this name.
    After(&'a [u8]),
    /// From a moment to before another one, CLOCK_MONOTONIC ns.
    During(u64, u64),
    /// From begin to end.
    Anywhere,
}

/// Which calls are asked for.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// Where.
    pub place: Place<'a>,
    /// By threads of which names.
    pub threads: &'a (dyn Fn(&[u8]) -> bool + Sync),
}

/// The calls that belong to a question.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// How often the place was come to: sections that such threads began, marks of any thread. Threads that
    /// belong to the question, where the place needs nobody to come to it.
    pub entered: u64,
    /// By stack, the one with most calls first.
    pub stacks: Vec<StackCalls>,
}

impl Found {
    /// All of them.
    pub fn kinds(&self) -> Kinds {
        self.stacks.iter().fold(Kinds::default(), |mut all, stack| {
            all.add(&stack.kinds);
            all
        })
    }
}

/// The calls of all processes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Calls {
    /// Their stacks.
    pub tree: CallTree,
    /// Of each process, in the order of the recording, what was found to each question.
    pub processes: Vec<Vec<Found>>,
    /// What could not be read, in words.
    pub problems: Vec<String>,
}

/// Looks for calls.
pub fn calls<H: History>(history: &H, questions: &[Question<'_>]) -> Calls {
    let (mut merger, mut calls) = (Merger::default(), Calls::default());
    let chunks = history.chunks();
    let processes = history.processes();
    let rates = Rates::new(history, processes.len());
    for (process, facts) in processes.iter().enumerate() {
        let mut definitions = Definitions::default();
        let read =
            history.definitions(process, &mut |id, definition| definitions.take(id, definition, &mut merger));
        calls.problems.extend(read.err());
        let own: Vec<_> = chunks.iter().copied().enumerate().filter(|(_, c)| c.process == process).collect();
        let pass =
            pass::Pass { history, rates: &rates, chunks: &own, clock: &facts.clock, broke: facts.broke };
        let mut answers = pass.run(questions, &definitions, &mut calls.problems);
        let found = |answer: &mut pass::Answer| {
            let rows = std::mem::take(&mut answer.rows).into_sorted();
            let nodes = merger.merge(&definitions, rows.iter().map(|(stack, _)| *stack));
            let of_stacks = nodes.into_iter().zip(&rows);
            let stacks = by_node(of_stacks.map(|(node, (_, row))| StackCalls::new(node, row, &facts.clock)));
            Found { entered: answer.entered, stacks }
        };
        calls.processes.push(answers.iter_mut().map(found).collect());
    }
    calls.tree = merger.into_tree();
    calls
}

/// Sums those of one stack, which a process may have defined twice; the one with most calls comes first.
pub(crate) fn by_node(stacks: impl Iterator<Item = StackCalls>) -> Vec<StackCalls> {
    let mut sums: BTreeMap<NodeId, StackCalls> = BTreeMap::new();
    for stack in stacks {
        sums.entry(stack.node).and_modify(|sum| sum.add(&stack)).or_insert(stack);
    }
    let mut stacks: Vec<_> = sums.into_values().collect();
    stacks.sort_by_key(|stack| (std::cmp::Reverse(stack.kinds.all()), stack.node));
    stacks
}
