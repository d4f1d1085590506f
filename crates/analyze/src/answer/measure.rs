//! What stacks are measured by: which of its figures a list, a picture or a comparison is of.

use super::amounts::Amount;
use super::estimate::{Estimate, StackEstimates};
use super::stack::Stack;

/// A figure of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Bytes held when the heap was largest.
    Peak,
    /// Bytes live at the end.
    Leaked,
    /// Bytes asked for.
    Allocated,
    /// Number of allocations.
    Count,
    /// Number of blocks that were freed before their thread's next allocation.
    Temporary,
}

impl Measure {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Peak => "peak",
            Measure::Leaked => "leaked",
            Measure::Allocated => "allocated",
            Measure::Count => "count",
            Measure::Temporary => "temporary",
        }
    }

    /// The blocks and bytes that it is taken from.
    pub fn amount(self, stack: &Stack) -> Amount {
        match self {
            Measure::Peak => stack.at_peak,
            Measure::Leaked => stack.leaked,
            Measure::Allocated | Measure::Count => stack.allocated,
            Measure::Temporary => stack.temporary,
        }
    }

    /// Sets them.
    pub fn set(self, stack: &mut Stack, amount: Amount) {
        match self {
            Measure::Peak => stack.at_peak = amount,
            Measure::Leaked => stack.leaked = amount,
            Measure::Allocated | Measure::Count => stack.allocated = amount,
            Measure::Temporary => stack.temporary = amount,
        }
    }

    /// How sure these are where blocks were sampled.
    pub fn estimate(self, of: &StackEstimates) -> &Estimate {
        match self {
            Measure::Peak => &of.at_peak,
            Measure::Leaked => &of.leaked,
            Measure::Allocated | Measure::Count => &of.allocated,
            Measure::Temporary => &of.temporary,
        }
    }

    /// Whether it is a number of blocks; else it is one of bytes.
    pub fn counts_blocks(self) -> bool {
        matches!(self, Measure::Count | Measure::Temporary)
    }

    /// The figure of an amount.
    pub fn figure(self, amount: Amount) -> u64 {
        if self.counts_blocks() { amount.blocks } else { amount.bytes }
    }

    /// The figure of a stack.
    pub fn of(self, stack: &Stack) -> u64 {
        self.figure(self.amount(stack))
    }
}
