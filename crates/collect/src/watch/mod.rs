//! Snapshots that come by themselves: when ([`Trigger`]), and taking them ([`Watch`]).

mod trigger;
mod watch;

pub use trigger::Trigger;
pub use watch::{SnapshotPlan, Watch};
