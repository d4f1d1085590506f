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
mod field_writer;
mod layout;
mod stacks;
#[cfg(test)]
mod tests;

pub use decode::ChunkEvents;
pub(crate) use decode::{Columns, DecodeState};
pub(crate) use encode::Encoder;
