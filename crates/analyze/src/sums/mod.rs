//! What chunks of events add up to.

mod pass;
mod process;

pub(crate) use self::pass::add_chunk;
pub(crate) use self::process::ProcessSums;
