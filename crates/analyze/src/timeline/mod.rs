//! The heap over time: what chunks did in the steps of a grid, the level from step to step, the busiest
//! second, and what happened between moments of another log.

pub mod busiest;
mod grid;
pub mod intervals;
mod level;
mod segment;

pub(crate) use self::grid::Grid;
pub(crate) use self::level::{StepLevel, sort_segments, step_levels};
pub(crate) use self::segment::{Cutter, Segment};
