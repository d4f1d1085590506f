//! Findings in words: a sentence with its figures, whom it is about, and what to try.

mod blocks;
mod describe;
mod remedy;
mod summary;
mod who;

pub(in crate::text) use blocks::is_of_number;
pub use blocks::{blocks, wrapped};
pub use describe::{Described, describe, describe_but};
pub use who::Who;
