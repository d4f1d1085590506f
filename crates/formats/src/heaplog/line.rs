//! A line of a log: the call that it stands for, in either form.

use heapscribe_wire::record::Call;

/// The two forms of lines.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Style {
    /// `malloc 0x55d0 24 0`, of heaphook 0.1.
    Spaces,
    /// `alloc, 24, 1, 0x00000000000055d0, 130`, of heaphook after it.
    Commas,
}

/// The call that a line stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// A block was allocated.
    Alloc {
        /// By this function. Commas know malloc, calloc, and memalign for all that ask for an alignment.
        call: Call,
        /// Bytes.
        size_bytes: u64,
        /// Alignment asked for; 1 for none. Spaces have no room for it.
        align: u64,
        /// Where it is; 0 when the call failed.
        address: u64,
    },
    /// A block was freed.
    Free {
        /// Where it was; 0 for none.
        address: u64,
    },
    /// A block was resized.
    Realloc {
        /// Where it was; 0 for none.
        old: u64,
        /// Bytes.
        size_bytes: u64,
        /// Where it is; 0 when the call failed, or freed it.
        new: u64,
    },
    /// The program asked for the usable size of a block.
    UsableSize {
        /// Where it is.
        address: u64,
        /// The answer, bytes.
        size_bytes: u64,
    },
}

/// A line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// The call.
    pub operation: Operation,
    /// How long the heap took, ns; spaces have no room for it.
    pub took_ns: Option<u64>,
}
