//! The memory of a process in `report --memory --json`.

use heapscribe_analyze::answer::NodeId;
use heapscribe_analyze::memory::{HeapLists, Memory, Pinned, PoolFigures, TopBlock};
use heapscribe_formats::{FreeKind, HeapLayout, ListsRead};
use serde::Serialize;

use super::coverage::UnseenHeapJson;
use super::heap::Counts;
use super::parts::FrameJson;
use crate::coverage::UnseenHeap;
use heapscribe_symbols::{NamedStacks, lossy};

/// `memory`.
#[derive(Serialize)]
pub struct MemoryJson {
    resident_bytes: Option<u64>,
    swapped_bytes: Option<u64>,
    heap_bytes: Option<u64>,
    heap: HeapJson,
    pinned_bytes: Option<u64>,
    lists: Option<ListsJson>,
    trim_bytes: Option<u64>,
    untouched_bytes: Option<u64>,
    parts: Vec<PartJson>,
    coverage: Option<f64>,
    unseen_heaps: Vec<UnseenHeapJson>,
    sampled: bool,
    pinned: Vec<PinnedJson>,
    tops: Vec<TopJson>,
    others: Vec<OtherJson>,
    between: BetweenJson,
    unplaced_blocks: Option<u64>,
    problems: Vec<String>,
}

/// The heap that the blocks are of.
#[derive(Serialize)]
struct HeapJson {
    name: Option<&'static str>,
    kept_bytes: Option<u64>,
    pools: Vec<PoolJson>,
    /// What it counted last, and how long before the snapshot that was.
    counts: Option<Counts>,
    counted_before_ns: Option<i64>,
}

/// A pool of our pool heap.
#[derive(Serialize)]
struct PoolJson {
    start: String,
    end: String,
    pool_bytes: u64,
    resident_bytes: u64,
    used_bytes: u64,
    blocks: u64,
    free_bytes: u64,
    cached_bytes: u64,
    free_blocks: u64,
    largest_free_bytes: u64,
}

fn heap(m: &Memory, taken_mono_ns: u64) -> HeapJson {
    let pool = |of: &PoolFigures| PoolJson {
        start: format!("{:#x}", of.start),
        end: format!("{:#x}", of.end),
        pool_bytes: of.pool_bytes,
        resident_bytes: of.resident_bytes,
        used_bytes: of.used_bytes,
        blocks: of.blocks,
        free_bytes: of.free_bytes,
        cached_bytes: of.cached_bytes,
        free_blocks: of.free_blocks,
        largest_free_bytes: of.largest_free_bytes,
    };
    let statistics = m.statistics.as_ref().map(|(_, sample)| sample);
    HeapJson {
        name: m.map.heap.name(),
        kept_bytes: (!m.is_cut && !m.is_sampled).then(|| m.kept_bytes()),
        pools: m.pools.iter().map(pool).collect(),
        counts: statistics.map(|of| Counts::from(&of.counts)),
        counted_before_ns: statistics.map(|of| taken_mono_ns.wrapping_sub(of.mono_ns) as i64),
    }
}

#[derive(Serialize)]
struct PartJson {
    name: &'static str,
    bytes: u64,
}

/// Where the heap itself has what is free.
#[derive(Serialize)]
struct ListsJson {
    read: &'static str,
    parts: Vec<ListJson>,
    unlisted_bytes: u64,
}

#[derive(Serialize)]
struct ListJson {
    name: &'static str,
    bytes: u64,
    in_free_pages_bytes: u64,
}

fn lists(of: &HeapLists, heap: HeapLayout) -> ListsJson {
    let name = |kind| match kind {
        FreeKind::ThreadCache => "thread_caches",
        FreeKind::FastBin => "fast_bins",
        FreeKind::Bin => "bins",
        FreeKind::Top => "top",
        FreeKind::Own => "own",
        FreeKind::Pool => "pool",
    };
    let read = match of.read {
        ListsRead::No => "no",
        ListsRead::InPart => "part",
        ListsRead::Whole => "whole",
    };
    let is_glibc = heap == HeapLayout::Glibc;
    let is_its = |part: &&heapscribe_analyze::memory::FreePart| (part.kind != FreeKind::Pool) == is_glibc;
    let part = |part: &heapscribe_analyze::memory::FreePart| ListJson {
        name: name(part.kind),
        bytes: part.bytes,
        in_free_pages_bytes: part.in_free_pages_bytes,
    };
    ListsJson {
        read,
        parts: of.parts.iter().filter(is_its).map(part).collect(),
        unlisted_bytes: of.unlisted_bytes,
    }
}

#[derive(Serialize)]
struct PinnedJson {
    id: u32,
    stack: Vec<FrameJson>,
    blocks: u64,
    live_bytes: u64,
    resident_bytes: u64,
    age_ns: AgesJson,
    alone_bytes: u64,
    with_previous_bytes: u64,
    in_pool_bytes: u64,
}

#[derive(Serialize)]
struct AgesJson {
    min: u64,
    max: u64,
}

#[derive(Serialize)]
struct TopJson {
    heap: &'static str,
    address: String,
    size_bytes: u64,
    age_ns: u64,
    below_bytes: u64,
    alone_bytes: u64,
    above_bytes: u64,
    id: u32,
    stack: Vec<FrameJson>,
}

#[derive(Serialize)]
struct OtherJson {
    start: String,
    end: String,
    name: String,
    resident_bytes: u64,
}

/// What happened between the look at the blocks and that at the pages.
#[derive(Serialize)]
struct BetweenJson {
    ns: u64,
    allocated_bytes: u64,
    freed_bytes: u64,
}

/// The stacks that will be written.
pub fn wanted(memory: &Memory, top: usize) -> impl Iterator<Item = NodeId> {
    memory.pinned.iter().take(top).map(|of| of.node).chain(memory.tops.iter().map(|top| top.node))
}

impl MemoryJson {
    /// With the names of these stacks; the blocks are of this moment, CLOCK_MONOTONIC ns.
    pub fn new(
        m: &Memory,
        heaps: &[UnseenHeap],
        top: usize,
        taken_mono_ns: u64,
        names: &NamedStacks<'_>,
    ) -> MemoryJson {
        let other = |of: &heapscribe_analyze::memory::OtherMapping| OtherJson {
            start: format!("{:#x}", of.start),
            end: format!("{:#x}", of.end),
            name: lossy(&of.name),
            resident_bytes: of.resident_bytes,
        };
        let known = |figure: u64| (!m.is_cut).then_some(figure);
        MemoryJson {
            resident_bytes: known(m.resident_bytes),
            swapped_bytes: known(m.swapped_bytes),
            heap_bytes: known(m.heap_bytes()),
            heap: heap(m, taken_mono_ns),
            pinned_bytes: known(m.pinned_bytes()),
            lists: (!m.is_cut).then(|| lists(&m.lists, m.map.heap)),
            trim_bytes: m.trim_bytes,
            untouched_bytes: known(m.untouched_bytes),
            parts: m.parts.iter().map(|of| PartJson { name: of.name.key(), bytes: of.bytes }).collect(),
            coverage: (!m.is_cut).then_some(m.coverage),
            unseen_heaps: heaps.iter().map(Into::into).collect(),
            sampled: m.is_sampled,
            pinned: m.pinned.iter().take(top).map(|of| pinned(of, names)).collect(),
            tops: m.tops.iter().map(|of| top_block(of, names)).collect(),
            others: m.others.iter().map(other).collect(),
            between: BetweenJson {
                ns: m.map.end_mono_ns.saturating_sub(taken_mono_ns),
                allocated_bytes: m.map.allocated_bytes,
                freed_bytes: m.map.freed_bytes,
            },
            unplaced_blocks: known(m.unplaced_blocks),
            problems: m.problems.clone(),
        }
    }
}

fn frames(node: NodeId, names: &NamedStacks<'_>) -> Vec<FrameJson> {
    names.frames(node).into_iter().map(FrameJson::from).collect()
}

fn pinned(of: &Pinned, names: &NamedStacks<'_>) -> PinnedJson {
    PinnedJson {
        id: of.node.0,
        stack: frames(of.node, names),
        blocks: of.blocks,
        live_bytes: of.live_bytes,
        resident_bytes: of.resident_bytes,
        age_ns: AgesJson { min: of.youngest_ns, max: of.oldest_ns },
        alone_bytes: of.alone_bytes,
        with_previous_bytes: of.with_previous_bytes,
        in_pool_bytes: of.in_pool_bytes,
    }
}

fn top_block(of: &TopBlock, names: &NamedStacks<'_>) -> TopJson {
    TopJson {
        heap: if of.is_brk { "brk" } else { "arena" },
        address: format!("{:#x}", of.address),
        size_bytes: of.size_bytes,
        age_ns: of.age_ns,
        below_bytes: of.below_bytes,
        alone_bytes: of.alone_bytes,
        above_bytes: of.above_bytes,
        id: of.node.0,
        stack: frames(of.node, names),
    }
}
