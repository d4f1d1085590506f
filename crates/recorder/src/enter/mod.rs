//! The one door from a hook into the recorder, and what a hook records once it is inside.

mod annotations;
mod blocks;
mod door;
mod entered;
mod pools;
mod process;
mod timed;

pub use blocks::RemovedBlock;
pub use door::{enter, resume, settle_flags};
pub use entered::Entered;
pub use process::{CountsNow, begin_exec, counts, exec_failed, leave};
pub use timed::{TimedCall, WrittenEvent, record_took};
