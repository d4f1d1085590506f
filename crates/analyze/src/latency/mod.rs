//! How long calls took: a histogram for each kind of call, the worst calls, and the worst over time. Summed
//! like all else, each chunk alone.

mod classes;
mod sums;
mod times;

pub(crate) use self::sums::{LastCall, Latency, StepTimes, TimedCall};
pub(crate) use self::times::{SlowCall, Times};
