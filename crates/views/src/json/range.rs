//! `heapscribe report --json` of a range.

use serde::Serialize;

use super::early_times::EarlyTimesJson;
use super::parts::{BlocksJson, FrameJson};
use crate::range::{RangeFigure, RangeReport};
use heapscribe_analyze::answer::{Amount, NodeId};
use heapscribe_symbols::NamedStacks;

/// Changes when a key changes its name or meaning.
const FORMAT: u32 = 1;

/// The whole object.
#[derive(Serialize)]
pub struct RangeJson {
    format: u32,
    kind: &'static str,
    command: String,
    duration_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    early_times: Option<EarlyTimesJson>,
    range: TimesJson,
    estimated: bool,
    events_missing: bool,
    missing: Vec<String>,
    allocations: u64,
    bytes_allocated: u64,
    frees: u64,
    bytes_freed: u64,
    not_freed: BlocksJson,
    live_at_begin: BlocksJson,
    live: BlocksJson,
    stacks: Vec<StackJson>,
    problems: Vec<String>,
}

#[derive(Serialize)]
struct TimesJson {
    from_ns: u64,
    to_ns: Option<u64>,
    born_from_ns: u64,
    born_to_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    freed_from_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    freed_to_ns: Option<u64>,
    live_at_ns: Option<u64>,
}

#[derive(Serialize)]
struct StackJson {
    id: u32,
    frames: Vec<FrameJson>,
    count: u64,
    bytes: u64,
    freed: BlocksJson,
    not_freed: BlocksJson,
    live_at_begin: BlocksJson,
    live: BlocksJson,
}

/// The stacks to print: those with most bytes allocated in the range, or live.
pub fn chosen(report: &RangeReport<'_>) -> Vec<NodeId> {
    let [first, ..] = report.lists()[..] else { return Vec::new() };
    report.first(first).into_iter().map(|(node, _)| node).collect()
}

/// A range with the names of these stacks.
pub fn object(report: &RangeReport<'_>, stacks: &[NodeId], names: &NamedStacks<'_>) -> RangeJson {
    let (times, total) = (&report.times, |of| report.total(of));
    let (allocated, freed) = (total(RangeFigure::Allocated), total(RangeFigure::Freed));
    RangeJson {
        format: FORMAT,
        kind: "range",
        command: report.command.clone(),
        duration_ns: report.duration_ns,
        early_times: report.early_times.map(Into::into),
        range: TimesJson {
            from_ns: times.from_ns.unwrap_or(0),
            to_ns: times.to_ns,
            born_from_ns: times.born_from_ns.unwrap_or(0),
            born_to_ns: times.born_to_ns,
            freed_from_ns: times.freed.map(|(from, _)| from.unwrap_or(0)),
            freed_to_ns: times.freed.and_then(|(_, to)| to),
            live_at_ns: times.live_at_ns,
        },
        estimated: report.is_estimated,
        events_missing: !report.causes.is_empty(),
        missing: report.causes.to_vec(),
        allocations: allocated.blocks,
        bytes_allocated: allocated.bytes,
        frees: freed.blocks,
        bytes_freed: freed.bytes,
        not_freed: total(RangeFigure::NotFreed).into(),
        live_at_begin: total(RangeFigure::LiveAtBegin).into(),
        live: total(RangeFigure::Live).into(),
        stacks: stacks.iter().map(|node| stack(report, *node, names)).collect(),
        problems: report.problems.to_vec(),
    }
}

fn stack(report: &RangeReport<'_>, node: NodeId, names: &NamedStacks<'_>) -> StackJson {
    let stacks = &report.figures.stacks;
    let found = stacks.binary_search_by_key(&node, |(node, _)| *node).ok().map(|at| stacks[at].1);
    let amount = |of: RangeFigure| found.map_or(Amount::default(), |amounts| amounts[of as usize]);
    let allocated = amount(RangeFigure::Allocated);
    StackJson {
        id: node.0,
        frames: names.frames(node).into_iter().map(FrameJson::from).collect(),
        count: allocated.blocks,
        bytes: allocated.bytes,
        freed: amount(RangeFigure::Freed).into(),
        not_freed: amount(RangeFigure::NotFreed).into(),
        live_at_begin: amount(RangeFigure::LiveAtBegin).into(),
        live: amount(RangeFigure::Live).into(),
    }
}
