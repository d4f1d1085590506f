//! Answers as JSON. The keys are a promise: they keep their names, meaning and order; new ones may come.

pub mod annotations;
pub mod check;
pub mod coverage;
pub mod diff;
mod early_times;
pub mod findings;
pub mod go;
pub mod heap;
pub mod latency;
pub mod live;
pub mod mappings;
pub mod memory;
pub mod messages;
pub mod parts;
pub mod profile;
pub mod range;
mod rates;
pub mod report;
pub mod resident;
mod runtime;
pub mod sampling;
mod timeline;
pub mod unrecorded;
