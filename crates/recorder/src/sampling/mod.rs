//! What is recorded and what is not: the mode of the process, samples, and the short way past the recorder.

mod admit;
pub mod filter;
pub mod gate;

pub(crate) use admit::{admit, admit_apart, has_allocated_others, is_full, is_recorded_in_full};
