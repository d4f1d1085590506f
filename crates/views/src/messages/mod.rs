//! Message logs: their parts as files, and messages as text and as JSON.

pub mod correlation;
pub mod lines;
mod log;
pub mod objects;

pub use log::{Log, layout_of};
