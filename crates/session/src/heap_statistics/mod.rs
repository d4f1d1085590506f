//! Statistics of the heaps under running programs: files that the libraries of heaps write where `run` or
//! `record` has statistics them to, read by copies, like sessions.
//!
//! `file` is one such file, `find` finds them all, `ended` sums those of processes of a `run` that have
//! ended, so that files do not pile up.

mod ended;
mod file;
mod find;

pub use ended::EndedHeaps;
pub use file::{HeapStatistics, HeapStatisticsFile};
pub use find::{ListedHeaps, all, clean, nearest};
