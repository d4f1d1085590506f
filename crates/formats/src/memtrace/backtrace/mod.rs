//! Stacks as code words: buckets of a cache of location codes, each with how often the prediction of the
//! next bucket holds from there on. Reader and writer keep the same cache and the same predictions.
//!
//! ```text
//!   u16   bits 2-15 bucket
//!         bits 0-1  0 hit   1 hit, one prediction holds   2 hit, u8 predictions hold   3 miss, u64 code
//! ```

mod code_word;
pub(crate) mod read;
pub(crate) mod write;
