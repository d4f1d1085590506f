//! Between our traces and heaphook's logs, which have neither times, threads nor stacks.

pub mod from;
mod tally;
pub mod to;

pub use tally::LogTally;
