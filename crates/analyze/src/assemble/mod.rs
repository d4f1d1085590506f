//! From what the passes found to the answer.

mod amounts;
mod annotations;
mod assembly;
mod at_end;
mod bounds;
mod context;
mod evicted;
mod latency;
mod process;
mod sampling;
mod timeline;
mod totals;

pub(crate) use self::assembly::assemble;
