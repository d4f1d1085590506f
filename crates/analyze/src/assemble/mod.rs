//! From what the passes found to the answer.

mod amounts;
mod annotations;
mod assembly;
mod at_end;
mod bounds;
mod context;
mod coverage;
mod evicted;
mod latency;
mod mappings;
mod patterns;
mod peak_range;
mod process;
mod resident;
mod sampling;
mod timeline;
mod totals;

pub(crate) use self::assembly::assemble;
pub use self::timeline::add_samples;
