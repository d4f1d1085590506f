//! Snapshots that are taken automatically: when ([`Trigger`]), and taking them ([`Watch`]).

mod trigger;
mod watcher;

pub use trigger::Trigger;
pub use watcher::{SnapshotCounts, SnapshotPlan, Watch};
