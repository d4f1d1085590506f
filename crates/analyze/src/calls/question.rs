//! Questions about calls, and what is found to them.

use crate::answer::{CallCounts, CallTree, StackCalls};

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
pub struct MatchingCalls {
    /// How often the place was come to: sections that such threads began, marks of any thread. Threads that
    /// belong to the question, where the place needs nobody to come to it.
    pub entered: u64,
    /// By stack, the one with most calls first.
    pub stacks: Vec<StackCalls>,
}

impl MatchingCalls {
    /// All of them.
    pub fn kinds(&self) -> CallCounts {
        self.stacks.iter().fold(CallCounts::default(), |mut all, stack| {
            all.add(&stack.kinds);
            all
        })
    }
}

/// The calls of all processes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallsByProcess {
    /// Their stacks.
    pub tree: CallTree,
    /// Of each process, in the order of the recording, what was found to each question.
    pub processes: Vec<Vec<MatchingCalls>>,
    /// What could not be read, in words.
    pub problems: Vec<String>,
}
