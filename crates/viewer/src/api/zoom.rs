//! A part of the timeline in as many steps as all of it has.

use serde::Serialize;

use super::answered::NoAnswer;
use super::ask::Ask;
use super::columns::TimelineColumns;
use super::viewer::Viewer;

/// The part.
#[derive(Serialize)]
pub(super) struct Zoom {
    /// None where there would be too many events to read.
    timeline: Option<TimelineColumns>,
}

/// The part of the time that a question is about.
pub(super) fn zoom(viewer: &Viewer<'_>, ask: &Ask) -> Result<Zoom, NoAnswer> {
    let ranges = viewer.ranges()?;
    let end_ns = ranges.extent().duration_ns.saturating_add(1);
    let to_ns = ask.blocks.to_ns.map_or(end_ns, |ns| ns.min(end_ns));
    let heap = ranges.heap_within(ask.blocks.from_ns.unwrap_or(0), to_ns);
    Ok(Zoom { timeline: heap.map(|heap| TimelineColumns::of(&heap)) })
}
