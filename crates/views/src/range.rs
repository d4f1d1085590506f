//! A range of a trace: what was allocated, freed and live in it, and by which stacks.

use std::cmp::Reverse;

use heapscribe_analyze::answer::{Amount, EarlyTimes, NodeId};
use heapscribe_convert::ranges::RangeStacks;

/// The figures of a stack in a range, by their places in [`RangeReport::figures`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RangeFigure {
    /// Allocated in it.
    Allocated,
    /// Freed in it, whenever allocated.
    Freed,
    /// Allocated in it and not freed until its end.
    NotFreed,
    /// Live when it begins.
    LiveAtBegin,
    /// Live when it ends, or of its blocks, at the moment that was asked for.
    Live,
}

/// How many there are.
pub const FIGURES: usize = 5;

/// Moments of a range, ns after the start of the trace; none where that end is the trace's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RangeTimes {
    /// Its first moment.
    pub from_ns: Option<u64>,
    /// The first moment after it.
    pub to_ns: Option<u64>,
    /// Its blocks are born from this moment on.
    pub born_from_ns: Option<u64>,
    /// And before this one.
    pub born_to_ns: Option<u64>,
    /// From when until when its blocks are freed, where only such are looked at.
    pub freed: Option<(Option<u64>, Option<u64>)>,
    /// When they are live.
    pub live_at_ns: Option<u64>,
}

/// What is to be printed.
pub struct RangeReport<'a> {
    /// The figures, in the order of [`RangeFigure`].
    pub figures: &'a RangeStacks<FIGURES>,
    /// Which range it is.
    pub times: RangeTimes,
    /// The command that was recorded.
    pub command: String,
    /// How long the recording is, ns.
    pub duration_ns: u64,
    /// Where its times are early.
    pub early_times: Option<EarlyTimes>,
    /// What is looked at of it, in words.
    pub part: &'a str,
    /// Whether blocks were sampled, so that figures are estimates.
    pub is_estimated: bool,
    /// What is missing, in words; nothing if figures are exact.
    pub causes: &'a [String],
    /// What is wrong with the trace.
    pub problems: &'a [String],
    /// Entries of each list.
    pub top: usize,
    /// Columns of a line.
    pub width: usize,
}

impl RangeReport<'_> {
    /// All of a figure.
    pub fn total(&self, of: RangeFigure) -> Amount {
        self.figures.totals[of as usize]
    }

    /// The stacks that have most bytes of a figure.
    pub fn first(&self, of: RangeFigure) -> Vec<(NodeId, Amount)> {
        let amounts = self.figures.stacks.iter().map(|(node, amounts)| (*node, amounts[of as usize]));
        let mut some: Vec<_> = amounts.filter(|(_, amount)| *amount != Amount::default()).collect();
        some.sort_by_key(|(node, amount)| (Reverse(amount.bytes), Reverse(amount.blocks), *node));
        some.truncate(self.top);
        some
    }

    /// The lists that there are.
    pub fn lists(&self) -> Vec<RangeFigure> {
        match (self.times.live_at_ns, self.times.freed) {
            (Some(_), _) => vec![RangeFigure::Live],
            (None, Some(_)) => vec![RangeFigure::Freed],
            (None, None) => vec![RangeFigure::Allocated, RangeFigure::NotFreed],
        }
    }

    /// The stacks that will be printed: only their names need to be looked up.
    pub fn wanted(&self) -> Vec<NodeId> {
        self.lists().into_iter().flat_map(|list| self.first(list)).map(|(node, _)| node).collect()
    }
}
