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
mod lives;
mod mappings;
mod own_peak;
mod patterns;
mod peak_range;
mod pools;
mod process;
mod resident;
mod sampling;
mod timeline;
mod totals;

pub(crate) use self::assembly::assemble;
pub use self::timeline::add_samples;
