//! Snapshots that are taken automatically: when ([`Trigger`]), and taking them ([`Watcher`]).

mod peaks;
mod thread;
mod trigger;
mod watcher;

pub(crate) use peaks::Peaks;
pub use thread::Watcher;
pub use trigger::Trigger;
pub use watcher::{SnapshotCounts, SnapshotPlan};
