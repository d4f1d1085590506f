//! The analysis against what is true: small histories by hand, random ones against slow twins, samples of known ones.

mod answers;
mod calls;
mod common;
mod decodes;
mod erased;
mod intervals;
mod long_lived;
mod missing;
mod oracle;
mod recording;
mod ring;
mod sampled_peak;
mod sampling;
