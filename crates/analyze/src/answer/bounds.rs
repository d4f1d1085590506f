//! Between what a figure lies that something missing has touched.

use super::amounts::Amount;

/// Between what a number lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// It is not below this.
    pub low: u64,
    /// Nor above this; none where there is no telling.
    pub high: Option<u64>,
}

impl Default for Range {
    /// Of nothing.
    fn default() -> Self {
        Range::exact(0)
    }
}

impl Range {
    /// A number that is known.
    pub fn exact(n: u64) -> Range {
        Range { low: n, high: Some(n) }
    }

    /// Whether the number is known.
    pub fn is_exact(&self) -> bool {
        self.high == Some(self.low)
    }

    /// Whether a number lies in it.
    pub fn contains(&self, n: u64) -> bool {
        self.low <= n && self.high.is_none_or(|high| n <= high)
    }

    fn add(&mut self, other: &Range) {
        self.low = self.low.saturating_add(other.low);
        self.high = self.high.zip(other.high).map(|(mine, theirs)| mine.saturating_add(theirs));
    }
}

/// Between what a number of blocks and their bytes lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// The blocks.
    pub blocks: Range,
    /// Their bytes.
    pub bytes: Range,
}

impl Bounds {
    /// Of an amount that is known.
    pub fn exact(amount: Amount) -> Bounds {
        Bounds { blocks: Range::exact(amount.blocks), bytes: Range::exact(amount.bytes) }
    }

    /// Of an amount between these; without a second one nobody knows how much more it is.
    pub fn between(least: Amount, most: Option<Amount>) -> Bounds {
        Bounds {
            blocks: Range { low: least.blocks, high: most.map(|most| most.blocks) },
            bytes: Range { low: least.bytes, high: most.map(|most| most.bytes) },
        }
    }

    /// Of a peak that was seen and was no less than so many bytes; or more, when it is open. Another moment may
    /// have been the highest, and then nobody knows how many blocks there were.
    pub(crate) fn of_peak(seen: Amount, least_bytes: u64, is_open: bool) -> Bounds {
        if !is_open && least_bytes == seen.bytes {
            return Bounds::exact(seen);
        }
        let high = (!is_open).then_some(seen.bytes.max(least_bytes));
        Bounds { blocks: Range { low: 0, high: None }, bytes: Range { low: least_bytes, high } }
    }

    /// Whether both are known.
    pub fn is_exact(&self) -> bool {
        self.blocks.is_exact() && self.bytes.is_exact()
    }

    /// Less an amount that is known to be in it.
    pub fn without(&self, amount: Amount) -> Bounds {
        let less = |range: &Range, n: u64| Range {
            low: range.low.saturating_sub(n),
            high: range.high.map(|high| high.saturating_sub(n)),
        };
        Bounds { blocks: less(&self.blocks, amount.blocks), bytes: less(&self.bytes, amount.bytes) }
    }

    /// Adds those of others.
    pub fn add(&mut self, other: &Bounds) {
        self.blocks.add(&other.blocks);
        self.bytes.add(&other.bytes);
    }
}

/// What losses leave of the figures that they touch, of a process or of all. The figures themselves are what
/// was seen; of sampled blocks they are estimates, and there are no such bounds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FigureBounds {
    /// Blocks allocated.
    pub allocated: Bounds,
    /// Blocks freed.
    pub freed: Bounds,
    /// The most that was live at a time.
    pub peak: Bounds,
    /// What was never freed.
    pub leaked: Bounds,
    /// By stack, in the order of [`super::Answer::stacks`]; empty when stacks have no bounds, and for a process.
    pub stacks: Vec<StackBounds>,
}

/// What losses leave of the figures of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StackBounds {
    /// Live at the peak.
    pub at_peak: Bounds,
    /// Never freed.
    pub leaked: Bounds,
}
