//! The one way to open an input, and from one format to another. What a format has no room for is lost on the way;
//! each direction says what that is.
//!
//! *You bring* a path, or a trace and somewhere to write. *It guarantees* that a file is recognized by its first
//! bytes once, that damage is reported with what could still be read, and that a conversion never invents an event.
//! *It refuses* a conversion that would have to.
#![forbid(unsafe_code)]

pub mod aos;
mod block_identity;
pub mod file_source;
pub mod go_sums;
pub mod gotrace;
pub mod heap_profile;
pub mod heaplog;
pub mod heaptrack;
pub mod in_order;
pub mod input;
pub mod live_level;
pub mod memtrace;
pub mod message_log;
pub mod native;
pub mod one_process;
pub mod opened_trace;
pub mod otlp;
pub mod pprof;
pub mod profile_sums;
mod protobuf;
pub mod ranges;
pub mod recorded;
pub mod refused;
mod resident;
pub mod ring;
pub mod rolling;
pub mod stack_levels;
pub mod stacks;
pub mod symbols;
pub mod tables;

pub use input::{Input, Kind, Salvage};
pub use opened_trace::{Opened, analyze_selection};
pub use resident::resident;
