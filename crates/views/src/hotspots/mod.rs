//! Runs of calls with most weight, found while events pass by, in memory that a parameter bounds.
//!
//! What is in memory: the heaviest runs and their error ([`heapscribe_analyze::heavy_hitters`]); the names of places in
//! code, which grow with the program's code and not with its stacks; a batch of stacks; and for our own
//! format a table of all nodes in a file without a name, 8 bytes each, of which some are looked up.

mod memtrace;
mod native;
mod runs;
mod weigh;

pub use self::memtrace::count as count_memtrace;
pub use self::native::count as count_native;
pub use self::runs::{Run, Runs};
pub use weigh::Weigh;
