//! Answers: whole steps and leaves from the index, and the events of the leaves in which a question begins or ends.

mod age_map;
mod ages;
mod bounds;
mod density;
mod edges;
mod fold;
mod leaves;
mod measured;
mod plan;
mod planning;
mod rectangle;
mod sections;
mod sums;
mod wanted;

pub use ages::AgeMap;
pub use bounds::Bounds;
pub use density::{Columns, Density};
pub use edges::Events;
pub use measured::{GivenBytes, ThreadStep};
pub use sums::Sums;
