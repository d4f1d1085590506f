//! What the numbers in events mean: definitions are appended once, before the first event that needs them,
//! and found again by their contents without a lock.

mod interner;
mod names;
mod path;
mod path_table;
mod rates;
mod writer;

pub(crate) use interner::Interner;
pub(crate) use names::Names;
pub use names::bytes_of;
pub(crate) use path::{CachedStackPath, Path, PathNode, UncachedPath};
pub(crate) use rates::{Rate, Rates};
pub(crate) use writer::DefinitionWriter;
