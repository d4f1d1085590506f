//! What a row of samples has, wherever its figures come from.

use heapscribe_analyze::answer::{CallTree, NodeId};
use heapscribe_analyze::events::BlockChange;

/// A sum over blocks, and its variance where they were sampled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sum {
    /// Blocks.
    pub blocks: u64,
    /// Bytes.
    pub bytes: u64,
    /// The variance of the blocks.
    pub blocks_variance: u128,
    /// The variance of the bytes.
    pub bytes_variance: u128,
}

impl Sum {
    /// What a block stands for. A sampled one of the figure `x` that stands for `y` adds `y (y - x)` to the variance.
    pub fn of(change: &BlockChange) -> Sum {
        let weight = change.weight;
        let variance =
            |own: u64, stands_for: u64| u128::from(stands_for) * u128::from(stands_for.saturating_sub(own));
        Sum {
            blocks: weight.blocks,
            bytes: weight.bytes,
            blocks_variance: variance(1, weight.blocks),
            bytes_variance: variance(change.size_bytes, weight.bytes),
        }
    }

    /// Adds another.
    pub fn add(&mut self, other: &Sum) {
        self.blocks = self.blocks.saturating_add(other.blocks);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.blocks_variance = self.blocks_variance.saturating_add(other.blocks_variance);
        self.bytes_variance = self.bytes_variance.saturating_add(other.bytes_variance);
    }

    /// Less another that is a part of it.
    #[must_use]
    pub fn without(&self, other: &Sum) -> Sum {
        Sum {
            blocks: self.blocks.saturating_sub(other.blocks),
            bytes: self.bytes.saturating_sub(other.bytes),
            blocks_variance: self.blocks_variance.saturating_sub(other.blocks_variance),
            bytes_variance: self.bytes_variance.saturating_sub(other.bytes_variance),
        }
    }
}

/// What a thread allocated from a stack in a window, and what of the stack's and the thread's is live at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// Index of the process.
    pub process: usize,
    /// The thread that allocated, where it is known.
    pub thread: Option<u32>,
    /// The stack.
    pub node: NodeId,
    /// When it begins, ns after the begin of the recording.
    pub from_ns: u64,
    /// When it ends.
    pub to_ns: u64,
    /// Allocated.
    pub allocated: Sum,
    /// Live.
    pub live: Sum,
}

/// Rows, and the calls that lead to their stacks.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rows {
    /// The calls.
    pub tree: CallTree,
    /// The rows; none is all 0.
    pub rows: Vec<Row>,
    /// What could not be read, in words.
    pub problems: Vec<String>,
}
