//! The heap over time: what chunks did in the steps of a grid, the level from step to step, the busiest
//! second, and what happened between moments of another log.

pub mod busiest;
mod grid;
mod heap_steps;
pub mod intervals;
mod level;
mod of_processes;
mod segment;

pub(crate) use self::grid::Grid;
pub(crate) use self::heap_steps::HeapLevels;
pub(crate) use self::level::{StepLevel, sort_segments, step_levels};
pub use self::of_processes::ProcessStep;
pub(crate) use self::of_processes::process_steps;
pub use self::segment::{Cutter, Segment};
