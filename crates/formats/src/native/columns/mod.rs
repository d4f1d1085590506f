//! Events as columns: the encoding of an events block.
//!
//! In the log each event is written in one piece. In a trace all fields of one kind are stored together, and
//! what follows from earlier events of the same block is left out: which block of the heap a free releases, and
//! the usual size of the blocks of a stack. So an events block is a third of its size, and can still be decoded
//! alone.
//!
//! ```text
//!   lengths of the twelve columns, varints in this order; then the columns, one behind the other
//!
//!   tags            u8, as in `wire::record`, one for each event in order; all other columns are varints
//!   alloc dt        of allocs: ticks since the event before
//!   other dt        the same of all other events but rates and durations of calls, which have none
//!   stacks          of allocated blocks and failed calls: 0 a stack that is new in this events block, else its
//!                   number among these, from 1
//!   foreign stacks  of foreign frees, in the same numbers (0 is new here too)
//!   new             stacks that are new, zigzag against the one before, 0 for the first
//!   sizes           of allocated blocks and failed calls: 0 the last size of its stack in this events block (0
//!                   for a new one), 1 the size follows as it is, else size + 2
//!   old sizes       of foreign frees, the same
//!   freed           of freed blocks: 0 a foreign free; 1 to 4 the position among the live blocks of this events
//!                   block, from the youngest; else, less 4, the position among all that it allocated
//!   foreign births  of foreign frees: ticks of birth, zigzag against the one before (begin ticks for the first)
//!   threads         of freed blocks that another thread allocated: which
//!   rest            alignments, counts and reasons of lost events, names and ages of other notes, durations of
//!                   calls, in order
//! ```
//! A *foreign free* releases a block that was not allocated in this events block, or that another thread
//! allocated. A freed block that is named by its position has the size and the stack with which it was allocated,
//! and its age is the difference of the ticks. A realloc frees the old block before it allocates the new one.
//!
//! The encoder writes the position of a block only when that reproduces the event exactly, so that every event
//! is decoded as it was.

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
