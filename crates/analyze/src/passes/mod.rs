//! The passes over the events of a recording, and what they find out.

mod grid;
mod results;
mod run;

pub(crate) use self::results::{PassResults, ProcessResults};
pub(crate) use self::run::run;
