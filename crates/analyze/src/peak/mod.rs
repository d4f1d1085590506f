//! The highest moment, and who held what at it.

mod holding;
mod search;

pub(crate) use self::holding::{Held, Holding, ProcessChunks};
pub(crate) use self::search::{Height, Search};
