//! Answers: whole steps and leaves from the index, and the events of the leaves in which a question begins or ends.

mod ages;
mod edges;
mod leaves;
mod measured;
mod plan;
mod rectangle;
mod sums;

pub use ages::{AgeMap, Columns, Density};
pub use edges::Events;
pub use measured::{GivenBytes, ThreadStep};
pub use sums::Sums;
