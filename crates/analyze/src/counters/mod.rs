//! Counters that events are added to: by stack, by thread, by size and by age.

mod histogram;
mod large;
mod patterns;
mod rows;

pub(crate) use self::histogram::Histogram;
pub(crate) use self::large::LargeSums;
pub(crate) use self::patterns::{Life, LifeStep, is_small_step, over_alignment};
pub(crate) use self::rows::{StackRow, ThreadSums};
