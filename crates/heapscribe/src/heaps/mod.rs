//! What heaps under running programs tell of themselves: files that the libraries of heaps write where `run` or
//! `record` has told them to, read by copies, like sessions.
//!
//! `told` is one such file, `find` finds them all, `ended` keeps what those of a `run` said whose processes have
//! ended, so that files do not pile up.

mod ended;
mod find;
mod told;

pub(crate) use ended::Ended;
pub(crate) use find::{all, clean, nearest};
pub(crate) use told::{Told, Watched};
