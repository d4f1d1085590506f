//! Sampled blocks: what each stands for, sums over them, and how sure these are.

mod estimates;
pub(crate) mod peak_range;
mod rates;
mod weight;

pub(crate) use self::estimates::{estimate, figure, total};
pub use self::rates::Rates;
pub(crate) use self::weight::{Birth, Moment, Moments, SampledLives, Samples};
pub use self::weight::{Half, Weight};
