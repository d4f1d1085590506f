//! Tables for engines that answer questions over many recordings: `samples` and `stacks`, after the split that keeps
//! frames out of the rows that are many, and `events` where each block is wanted.
//!
//! | table | a row is |
//! |---|---|
//! | `samples` | what a thread allocated from a stack in a window of time, and what of the stack's is live at its end |
//! | `stacks` | a stack: the number that samples have, and its frames |
//! | `events` | a block: who allocated it, when, and when it was freed |
//!
//! The columns are in `docs/reference/tables.md`, with their version, [`output::SCHEMA_VERSION`]. A stack's number is a hash of
//! build ids and offsets: the same code has the same number on every host.
//!
//! *Lost on the way*: the peak between the ends of windows, ages, calls that failed, marks and sections.

mod arrow;
pub mod batch;
mod csv;
pub mod events;
pub mod gather;
pub mod output;
mod parquet;
pub mod read_stacks;
pub mod rows;
pub mod samples;
pub mod stack_hash;
pub mod stacks;
pub mod store;
pub mod windows;
