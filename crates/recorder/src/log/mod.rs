//! The log: chunks of events that threads fill, and the drainer or, without one, the thread itself empties.

mod chunk_file;
mod chunks;
mod silence;
mod spill;
mod wait_budget;

pub(crate) use chunks::{Log, OpenChunk};
