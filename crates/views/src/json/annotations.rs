//! Annotations of programs: marks, sections, pools.

use heapscribe_analyze::answer::{
    Answer, Holder, Mark, NodeId, PoolBounds, PoolSampling, PoolStack, PoolStackSampling, Section,
    SectionsLeft,
};
use heapscribe_analyze::calls::{CallCounts, StackCalls};
use serde::Serialize;

use crate::annotations::{nodes, of_pools, of_section};

use super::parts::{BlocksJson, FrameJson, RangeJson, RangesJson};
use super::sampling::EstimateJson;
use heapscribe_symbols::{NamedStacks, lossy};

/// Stacks of a section or of the pools that are written, those with most bytes first.
const STACKS: usize = 100;

/// Marks of one name in one process.
#[derive(Serialize)]
pub struct MarkJson {
    pid: u32,
    name: String,
    count: u64,
    first_ns: u64,
    last_ns: u64,
    heap_at_first_bytes: Option<u64>,
    heap_at_last_bytes: Option<u64>,
}

/// Sections of one name.
#[derive(Serialize)]
pub struct SectionJson {
    name: String,
    count: u64,
    ended: u64,
    total_ns: u64,
    longest_ns: u64,
    allocated: BlocksJson,
    stacks: Vec<SectionStackJson>,
    calls: KindsJson,
    calls_by_stack: Vec<StackCallsJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<SectionsLeftJson>,
}

/// What sections had left when their process was looked at.
#[derive(Serialize)]
struct SectionsLeftJson {
    sections: u64,
    blocks: u64,
    live_bytes: u64,
    pinned_bytes: u64,
    most_pinned_bytes: u64,
}

impl SectionsLeftJson {
    fn of(left: &SectionsLeft) -> Option<SectionsLeftJson> {
        (left.sections > 0).then_some(SectionsLeftJson {
            sections: left.sections,
            blocks: left.live.blocks,
            live_bytes: left.live.bytes,
            pinned_bytes: left.pinned_bytes,
            most_pinned_bytes: left.most_pinned_bytes,
        })
    }
}

/// Calls of the heap by what they were for.
#[derive(Serialize)]
pub struct KindsJson {
    allocations: u64,
    reallocs: u64,
    frees: u64,
    failed: u64,
}

impl From<&CallCounts> for KindsJson {
    fn from(k: &CallCounts) -> Self {
        KindsJson { allocations: k.allocations, reallocs: k.reallocs, frees: k.frees, failed: k.failed }
    }
}

/// The calls of a stack; frees are those of its blocks.
#[derive(Serialize)]
struct StackCallsJson {
    id: u32,
    frames: Vec<FrameJson>,
    calls: KindsJson,
    bytes: u64,
    first_ns: u64,
    worst_ns: Option<u64>,
}

#[derive(Serialize)]
struct SectionStackJson {
    id: u32,
    frames: Vec<FrameJson>,
    allocated: BlocksJson,
}

/// All pools.
#[derive(Serialize)]
pub struct PoolsJson {
    allocated: BlocksJson,
    freed: BlocksJson,
    leaked: BlocksJson,
    peak_bytes: u64,
    peak_ns: u64,
    unknown_blocks: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds: Option<PoolBoundsJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<PoolSamplingJson>,
    stacks: Vec<PoolStackJson>,
}

#[derive(Serialize)]
struct PoolStackJson {
    id: u32,
    frames: Vec<FrameJson>,
    allocated: BlocksJson,
    leaked: BlocksJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds: Option<PoolStackBoundsJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sampling: Option<PoolStackSamplingJson>,
}

/// What losses leave of the figures of pools.
#[derive(Serialize)]
struct PoolBoundsJson {
    allocated: RangesJson,
    freed: RangesJson,
    peak_bytes: RangeJson,
    leaked: RangesJson,
}

#[derive(Serialize)]
struct PoolStackBoundsJson {
    leaked: RangesJson,
}

/// How sure the figures of sampled pools are.
#[derive(Serialize)]
struct PoolSamplingJson {
    allocated: EstimateJson,
    freed: EstimateJson,
    peak: EstimateJson,
    leaked: EstimateJson,
}

#[derive(Serialize)]
struct PoolStackSamplingJson {
    allocated: EstimateJson,
    leaked: EstimateJson,
}

impl From<&PoolBounds> for PoolBoundsJson {
    fn from(b: &PoolBounds) -> Self {
        let (allocated, freed, leaked) = ((&b.allocated).into(), (&b.freed).into(), (&b.leaked).into());
        PoolBoundsJson { allocated, freed, peak_bytes: (&b.peak_bytes).into(), leaked }
    }
}

impl From<&PoolSampling> for PoolSamplingJson {
    fn from(s: &PoolSampling) -> Self {
        let (allocated, freed) = ((&s.allocated).into(), (&s.freed).into());
        PoolSamplingJson { allocated, freed, peak: (&s.peak).into(), leaked: (&s.leaked).into() }
    }
}

/// The stacks that are written, to be looked up.
pub fn wanted(answer: &Answer) -> impl Iterator<Item = NodeId> {
    nodes(answer, STACKS)
}

/// The marks.
pub fn marks(a: &Answer) -> Vec<MarkJson> {
    let mark = |m: &Mark| MarkJson {
        pid: a.processes.get(m.process).map_or(0, |p| p.pid),
        name: lossy(&m.name),
        count: m.count,
        first_ns: m.first_ns,
        last_ns: m.last_ns,
        heap_at_first_bytes: m.heap_at_first_bytes,
        heap_at_last_bytes: m.heap_at_last_bytes,
    };
    a.marks.iter().map(mark).collect()
}

fn frames(node: NodeId, names: &NamedStacks<'_>) -> Vec<FrameJson> {
    names.frames(node).into_iter().map(FrameJson::from).collect()
}

/// The sections.
pub fn sections(a: &Answer, names: &NamedStacks<'_>) -> Vec<SectionJson> {
    let stack = |s: &Holder| SectionStackJson {
        id: s.node.0,
        frames: frames(s.node, names),
        allocated: s.held.into(),
    };
    let calls = |s: &StackCalls| StackCallsJson {
        id: s.node.0,
        frames: frames(s.node, names),
        calls: (&s.kinds).into(),
        bytes: s.bytes,
        first_ns: s.first_ns.saturating_sub(a.begin_mono_ns),
        worst_ns: s.worst_ns,
    };
    let section = |s: &Section| SectionJson {
        name: lossy(&s.name),
        count: s.count,
        ended: s.ended,
        total_ns: s.total_ns,
        longest_ns: s.longest_ns,
        allocated: s.allocated.into(),
        stacks: of_section(s, STACKS).into_iter().map(stack).collect(),
        calls: (&s.calls).into(),
        calls_by_stack: s.calls_by_stack.iter().take(STACKS).map(calls).collect(),
        left: SectionsLeftJson::of(&s.left),
    };
    a.sections.iter().map(section).collect()
}

/// The pools, when there are any.
pub fn pools(a: &Answer, names: &NamedStacks<'_>) -> Option<PoolsJson> {
    let p = &a.pools;
    if p.is_empty() {
        return None;
    }
    let sampling = |s: &PoolStackSampling| PoolStackSamplingJson {
        allocated: (&s.allocated).into(),
        leaked: (&s.leaked).into(),
    };
    let stack = |s: &PoolStack| PoolStackJson {
        id: s.node.0,
        frames: frames(s.node, names),
        allocated: s.allocated.into(),
        leaked: s.leaked.into(),
        bounds: s.leaked_bounds.as_ref().map(|leaked| PoolStackBoundsJson { leaked: leaked.into() }),
        sampling: s.sampling.as_ref().map(sampling),
    };
    Some(PoolsJson {
        allocated: p.allocated.into(),
        freed: p.freed.into(),
        leaked: p.leaked.into(),
        peak_bytes: p.peak_bytes,
        peak_ns: p.peak_ns,
        unknown_blocks: p.unknown,
        bounds: p.bounds.as_ref().map(Into::into),
        sampling: p.sampling.as_ref().map(Into::into),
        stacks: of_pools(a, STACKS).into_iter().map(stack).collect(),
    })
}
