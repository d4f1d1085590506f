//! Message logs as text and as JSON, and what the heap did between their messages.

pub mod correlation;
pub mod lines;
pub mod objects;
