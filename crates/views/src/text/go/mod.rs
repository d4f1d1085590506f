//! The report of a Go trace as text: the heap over time and what the collector did; single objects where the
//! trace has them.

mod objects;
mod report;

pub use report::GoReport;
