//! Builds an index in one pass over the events: chunks by the time of their begin, several at a time, and a leaf is
//! written when no chunk that is left can add to it.

mod chunk_pass;
mod leaf_ages;
mod leaf_sums;
mod leaf_writer;
mod local_sums;
mod notes;
mod options;
mod rows;
mod run;
mod step_ages;
mod steps;
mod survivors;

pub use options::BuildOptions;
pub use run::{Built, build};
