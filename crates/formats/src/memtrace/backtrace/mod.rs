//! Stacks as code words: buckets of a cache of location codes, each with how often the prediction of the
//! next bucket holds from there on. Reader and writer keep the same cache and the same predictions.
//!
//! ```text
//!   u16   bits 2-15 bucket
//!         bits 0-1  0 hit   1 hit, one prediction holds   2 hit, u8 predictions hold   3 miss, u64 code
//! ```

pub(crate) mod read;
pub(crate) mod write;

/// What the two low bits of a code word say.
const ONE_PREDICTED: u16 = 1;
const MANY_PREDICTED: u16 = 2;
const MISS: u16 = 3;
const TAG: u16 = 3;
