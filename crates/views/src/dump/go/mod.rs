//! A trace of Go's: what its numbers mean, then its events in the order of time. [`lines`] is for people,
//! [`objects`] for programs, [`oracle`] has the forms in which Go's own reader was asked for the heap and
//! the stacks.

pub mod lines;
pub mod objects;
pub mod oracle;
mod printer;

pub use printer::{GoTrace, Printer, StackNumber};
