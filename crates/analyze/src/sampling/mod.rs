//! Sampled blocks: what each stands for, sums over them, and how sure these are.

mod estimates;
pub(crate) mod peak_range;
mod rates;
mod samples;
mod weight;

pub(crate) use self::estimates::{PartOf, estimate, figure, total};
pub use self::rates::Rates;
pub(crate) use self::samples::{SampledLives, Samples};
pub(crate) use self::weight::{Birth, Moment, Moments};
pub use self::weight::{Half, Weight};
