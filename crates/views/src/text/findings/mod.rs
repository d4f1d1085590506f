//! Findings in words: a sentence with its figures, whom it is about, and what to try.

mod blocks;
mod describe;
mod long_lived;
mod remedy;
mod summary;
mod who;

pub(in crate::text) use blocks::is_of_number;
pub use blocks::{blocks, wrapped};
pub use describe::{Described, describe, describe_but};
pub use long_lived::{LongLivedBlocks, describe_long_lived, long_lived_sentence};
pub use who::Who;
