//! Snapshots that are taken automatically: when ([`Trigger`]), and taking them ([`Watch`]).

mod peaks;
mod trigger;
mod watcher;

pub(crate) use peaks::Peaks;
pub use trigger::Trigger;
pub use watcher::{SnapshotCounts, SnapshotPlan, Watch};
