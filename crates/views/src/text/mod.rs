//! Answers as plain sentences for people, at most 80 columns where it is up to us, and as wide as the terminal where
//! stacks are listed. On a narrower one `fit` breaks what is longer.

pub mod annotations;
pub mod bounds;
pub mod brief;
pub mod chart;
pub mod check;
pub mod correlation;
mod coverage;
pub mod diff;
pub mod early_times;
pub mod estimate;
pub mod findings;
pub mod fit;
mod functions;
pub mod go;
pub mod heap;
mod hints;
pub mod hotspots;
pub mod latency;
mod layout;
pub mod live;
mod long_lived;
pub mod losses;
mod mappings;
pub mod memory;
pub mod messages;
mod out;
mod pools;
pub mod profile;
mod program_pools;
pub mod range;
pub mod real_time;
pub mod report;
pub mod resident;
pub mod ring;
mod runtime_blocks;
pub mod screen;
mod shared;
pub mod stack_list;
pub mod tables;
pub mod tally;

pub use out::{Out, heading};
