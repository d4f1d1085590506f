//! The collector: takes chunks out of the sessions of all recorded processes, and writes them to a trace while the
//! processes run.
//!
//! *You bring* a base directory and where to write. *It guarantees* that a chunk is in the trace before its process
//! may use it again, that what cannot be written is counted, and that its memory does not grow with the recording.
//! *It refuses* to wait for a process: one that stands still costs nothing.
#![forbid(unsafe_code)]

mod annotations_seen;
mod clock_pair;
mod descriptors;
mod drain;
mod first_chunks;
mod forked;
mod heap_samples;
mod heartbeats;
mod jit_names;
mod killed;
mod level;
mod log;
mod marks;
mod memory_schedule;
mod memtrace;
mod named_snapshots;
mod origin;
mod other_programs;
mod output;
mod pace;
mod resident;
mod ring;
mod session_drain;
mod session_head;
mod sink;
mod spilled;
mod summary;
mod tap;
mod unrecorded;
mod unwritten;
pub mod watch;

pub use drain::Drain;
pub use killed::{KilledRetention, clean};
pub use memtrace::{FilesPlan, Written};
pub use origin::Origin;
pub use resident::MemoryMapPlan;
pub use ring::CrowdedRing;
pub use summary::Summary;
pub use tap::{SharedTap, Tap};
