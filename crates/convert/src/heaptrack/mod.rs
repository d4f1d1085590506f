//! Between heaptrack's data files and ours; see [`heapscribe_formats::heaptrack`].

mod frames;
pub mod from;
mod packed;
pub mod to;

pub use packed::{first_bytes, unpacked};
