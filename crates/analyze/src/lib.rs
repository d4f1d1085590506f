//! From events to answers: who allocated, how much, for how long, what was held at the peak and what
//! was never freed.
//!
//! A free event says what it frees - stack, size, age, thread of birth - so nothing here matches
//! addresses or keeps a table of live blocks: each chunk of events is summed alone, on any core, and
//! only sums meet. The peak is exact all the same, and the events are never sorted as a whole.
//!
//! Where blocks were sampled each stands for several, and every figure is an estimate; [`estimate`] says
//! how sure the main ones are.
//!
//! *You bring* a [`History`]: a [`Recording`] over a trace, or anything that yields chunks of events.
//! *It guarantees* memory in proportion to stacks, threads and steps of time, not to events; the same
//! answer on any number of cores; and figures that clock skew between threads cannot corrupt. *It
//! refuses* to name functions, to open files and to print.
#![forbid(unsafe_code)]

mod analyze;
mod annotations;
pub mod answer;
mod assemble;
pub mod calls;
mod counters;
pub mod diff;
mod events;
pub mod go;
pub mod heavy;
pub mod input;
mod latency;
mod options;
mod passes;
mod peak;
mod sampling;
pub mod snapshot;
mod stacks;
mod sums;
mod timeline;

pub use analyze::analyze;
pub use answer::{Answer, estimate, measure};
pub use input::{History, Recording, selection};
pub use options::Options;
pub use stacks::gathered;
pub use timeline::{busiest, intervals};
