//! Between heaptrack's data files and ours; see [`heapscribe_formats::heaptrack`].

pub mod to;
