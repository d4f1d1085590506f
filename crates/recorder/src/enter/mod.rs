//! The one door from a hook into the recorder, and what a hook records once it is inside.

mod annotations;
mod blocks;
mod entry_token;
mod mappings;
mod pools;
mod process;
mod reentry_guard;
mod timed;

pub use blocks::RemovedBlock;
pub use entry_token::Entered;
pub use mappings::{MappingChange, mapping_ticks};
pub use process::{CountsNow, begin_exec, counts, exec_failed, leave};
pub use reentry_guard::{enter, resume, settle_flags};
pub use timed::{TimedCall, WrittenEvent, record_took};
