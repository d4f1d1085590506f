//! Any range of a trace, by birth and death of its blocks, without reading its events again.
//!
//! A free says when its block was born and by which stack, so that chunks add up to a *cube*: blocks and bytes by stack
//! (with process, thread and class of size), time of birth and time of death. Each question about a range is a
//! rectangle of it, see [`Question`]; that of a whole hour and that of ten milliseconds cost about the same.
//!
//! Time is cut into leaves of about 131,000 events, of more where there are many, and 64 leaves or more are a step. The index has sums of leaves and steps;
//! where a question begins or ends inside of a leaf, the events of that leaf are decoded, so that answers are exact.
//! The idea of asking by birth and death is memtrace_viewer's filter; that of a cube over dyadic times is from
//! range trees, of which two levels are enough here, as no leaf has many events.
//!
//! *You bring* a [`History`](heapscribe_analyze::History) and something to write to or to read from. *It guarantees*
//! the figures that a replay of all events gives. *It refuses* an index that is damaged or of another trace.
#![forbid(unsafe_code)]

mod ages;
mod amount;
mod ask;
pub mod axis;
mod build;
mod file;
mod hash;
mod heap;
mod key;
mod lost;
mod notes;
mod open;
mod question;
mod slots;
mod ticks;
mod trace_id;

pub use ages::AGES_NS;
pub use amount::Amount;
pub use ask::{AgeMap, Bounds, Columns, Density, Events, GivenBytes, Sums, ThreadStep};
pub use build::{BuildOptions, Built, build};
pub use file::{IndexError, VERSION};
pub use key::{Key, KeyFilter, KeyId, SizeClass};
pub use open::Index;
pub use question::{Death, Question, Span};
pub use trace_id::TraceId;
