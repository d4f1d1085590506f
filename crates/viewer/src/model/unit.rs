//! What figures are counted in.

use heapscribe_analyze::answer::Amount;

/// What the width of a box and the order of a table are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Unit {
    /// Bytes.
    #[default]
    Bytes,
    /// Blocks.
    Blocks,
}

impl Unit {
    pub(crate) fn of(self, amount: Amount) -> u64 {
        match self {
            Unit::Bytes => amount.bytes,
            Unit::Blocks => amount.blocks,
        }
    }
}
