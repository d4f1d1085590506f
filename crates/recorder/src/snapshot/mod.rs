//! Named snapshots: a copy of the live table as it is at one instant, which the program asked for.

mod exact;
mod file;

pub(crate) use exact::take;
