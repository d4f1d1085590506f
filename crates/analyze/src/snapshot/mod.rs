//! Answers to what is live: of a table of blocks, as a snapshot has it. No event is needed - a block says
//! what it is - so there is no peak and no leak in it, only what is there, whose it is and since when.
//!
//! In a recording of *events* a table of what was live before them is something else: blocks that were allocated by
//! events which are not there, see [`crate::Recording`].

mod live;
mod sums;
mod tables;

pub use self::live::{LiveSampling, LiveStack, LiveThread, Snapshot};
pub use self::tables::{analyze, blocks, is_one};
