//! Events: what a thread did to the heap, a few bytes each, written in place into its chunk.
//!
//! ```text
//!   tag      bits 0-2 kind   bits 3-6 call   bit 7 another thread's block
//!   dt       varint, ticks since the event before it in this chunk (the chunk's begin for the first), >= 1
//!   alloc    size  stack  [align_log2, for the aligned calls]
//!   free     age_ticks  size  stack  [birth thread, when bit 7]
//!   realloc  age_ticks  old size  old stack  [birth thread, when bit 7]  new size  new stack
//!   failed   size  stack                          the call gave NULL and changed nothing
//!   note     what the call bits say, the flag is 0:
//!            0 lost     count  reason             events that are not here, see `head::LossReason`
//!            1 mark     name                      the program is here
//!            2 begin    name                      of a section, which goes on until its end on this thread
//!            3 end      name                      of the innermost section of that name and of those inside it
//!            4 goes on  name  age_ticks           a section that began so long ago in an earlier chunk
//!            5 mapping  what  took_ticks  stack  address  bytes  [old address  old bytes]   see [`Mapping`]
//!   unknown  [new size  new stack, for realloc]   the block was not known: born before us, or dropped
//!   took     units         no dt; the flag alone: how long the call of the event right before it was in the heap
//!   rate     -             no dt; the call bits hold a sampling rate's number: all blocks from here on,
//!                          born or gone, were sampled at that rate; a chunk begins at 0, every block
//! ```
//!
//! A free has all of what it frees - stack, size, age, thread of birth - so no reader has to match addresses:
//! each chunk can be summed alone, in any order, on any core. (thread, birth ticks) names the block. For the
//! same reason a chunk begins with the sections that its thread is in, the outermost first.

mod decode;
mod encode;
mod event;
mod latency;
mod mapping;
mod note;
mod short;
mod short_read;
mod tag;

#[cfg(test)]
mod tests;

pub use crate::call::Call;
pub use decode::{BadEvent, Events};
pub use event::{Block, Event};
pub use latency::put_latency;
pub use mapping::{Mapping, MappingFlags, MappingKind};
pub use note::Note;
pub use short::{put_alloc, put_alloc_of_many, put_free, put_free_of_many};
pub use short_read::ShortEvent;
