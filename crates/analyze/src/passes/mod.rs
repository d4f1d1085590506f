//! The passes over the events of a recording, and what they find out.

mod ascent;
mod ends;
mod extent;
mod grid;
mod highest;
mod results;
mod run;

pub use self::extent::{Extent, extent};
pub use self::highest::{Highest, highest};
pub(crate) use self::results::{PassResults, ProcessResults};
pub(crate) use self::run::run;
