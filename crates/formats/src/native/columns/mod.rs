//! Events as columns: how an events block keeps them.
//!
//! In the log an event stands in one piece, because it is written in one piece. In a trace all fields of
//! one kind stand together, and what can be told from the events before it in the same block is not
//! written: which block of the heap a free gives back, how large blocks of a stack are. So a block of
//! events is a third of its size, and still is read alone.
//!
//! ```text
//!   lengths of the twelve columns, varints in this order; then the columns, one behind the other
//!
//!   tags      u8, as `wire::record` has them, one for each event in order; all else are varints
//!   alloc dt  ticks since the event before: of allocs
//!   other dt  the same, of all other events but rates and what calls took, which have none
//!   stacks    of blocks that came and of failed calls: 0 a stack that is new in this events block, else
//!             its number among these, from 1
//!   strangers stacks of strangers, in the same numbers (0 is new here too)
//!   new       stacks that are new, zigzag against the one before, 0 for the first
//!   sizes     of blocks that came and of failed calls: 0 the last size of its stack in this events block
//!             (0 for a new one), 1 it follows as it is, else size + 2
//!   old sizes of strangers, the same
//!   gone      of blocks that went: 0 a stranger; up to 4 the how manieth of the blocks that came in this
//!             events block and did not go, from the youngest; else, 4 less, the how manieth of all that
//!             came here
//!   births    of strangers: ticks of birth, zigzag against the stranger before (begin ticks for the first)
//!   threads   of blocks that went and were another thread's: which
//!   rest      alignments, counts and reasons of lost events, names and ages of other notes, what calls
//!             took, in order
//! ```
//! A *stranger* is a block that went and did not come in this events block, or was another thread's. A
//! block that came and is told by its number went with the size and the stack it came with, and its age
//! is the difference of the ticks. A realloc's old block goes before its new one comes.
//!
//! The encoder writes the number of a block only when that says exactly what the event says, so that
//! every event comes back as it was.

mod births;
mod cursor;
mod decode;
mod encode;
mod known;
mod pen;
#[cfg(test)]
mod tests;

pub use decode::ChunkEvents;
pub(crate) use decode::{Columns, Room};
pub(crate) use encode::Encoder;

/// Kinds of events: the low bits of a tag.
mod kind {
    pub(super) const ALLOC: u8 = 1;
    pub(super) const FREE: u8 = 2;
    pub(super) const REALLOC: u8 = 3;
    pub(super) const FAILED: u8 = 4;
    pub(super) const NOTE: u8 = 5;
    pub(super) const UNKNOWN: u8 = 6;
    pub(super) const RATE: u8 = 7;
    /// In a tag: the block was another thread's, or the unknown one was resized.
    pub(super) const FLAG: u8 = 0x80;
    /// As a whole tag: what the call before took.
    pub(super) const TOOK: u8 = FLAG;
}

/// The columns, in their order.
#[derive(Clone, Copy)]
enum Column {
    Tags,
    AllocDt,
    OtherDt,
    Stacks,
    Strangers,
    New,
    Sizes,
    OldSizes,
    Gone,
    Births,
    Threads,
    Rest,
}

/// How many there are.
const COLUMNS: usize = 12;

/// Up to here a number in `gone` counts the blocks that did not go, beyond it those that came.
const NEAR_MAX: u64 = 4;

/// In `sizes`: the last one of the stack.
const SAME: u64 = 0;
/// In `sizes`: the size follows as it is.
const VERBATIM: u64 = 1;
/// In `sizes`: what is added to all others.
const SIZE_BASE: u64 = 2;
