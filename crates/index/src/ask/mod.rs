//! Answers: whole steps and leaves from the index, and the events of the leaves in which a question begins or ends.

mod age_map;
mod ages;
mod density;
mod edges;
mod fold;
mod leaves;
mod measured;
mod plan;
mod rectangle;
mod sums;

pub use age_map::Bounds;
pub use ages::AgeMap;
pub use density::{Columns, Density};
pub use edges::Events;
pub use measured::{GivenBytes, ThreadStep};
pub use sums::Sums;
