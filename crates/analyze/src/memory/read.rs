//! From a trace to the answer: reads the map and the blocks of a snapshot and looks at them side by side.

use std::collections::HashMap;

use heapscribe_formats::{
    FreeRange, HeapLayout, ListsRead, LiveRole, Mapping, MemoryMap, PageRun, Scratch, SectionLeft, Source,
    Trace, TraceError,
};
use heapscribe_wire::ids::RateId;

use super::answer::{Memory, OtherMapping, PartName};
use super::extents::Extent;
use super::lists::{self, Lists};
use super::of_sections::Left;
use super::page_map::PageMap;
use super::pages::Pages;
use super::pins::Pins;
use super::placed::Placed;
use super::pools::Pools;
use super::regions::regions;
use super::remedy::Remedy;
use super::sweep::{Heap, UsedPage, Visit};
use super::waterfall::Waterfall;
use crate::snapshot::Snapshot;

/// What the resident memory of a snapshot's process is made of; `None` when the snapshot has no memory map.
///
/// # Errors
/// Only when the trace cannot be read.
pub fn analyze<S: Source>(trace: &Trace<S>, snapshot: &Snapshot) -> Result<Option<Memory>, TraceError> {
    let Some(read) = Read::new(trace, snapshot)? else { return Ok(None) };
    if read.is_cut {
        let Read { map, problems, is_sampled, .. } = read;
        return Ok(Some(Memory {
            map: map.clone(),
            problems,
            is_sampled,
            is_cut: true,
            ..Memory::default()
        }));
    }
    let mut memory = explain(&read.seen());
    memory.problems.extend(read.problems);
    let problems = trace.heap(snapshot.process.index, &mut Scratch::default(), |info, sample| {
        memory.statistics = Some((info.clone(), *sample));
    })?;
    memory.problems.extend(problems.iter().map(ToString::to_string));
    Ok(Some(memory))
}

/// The heap of a snapshot's process as a map of cells; `None` when the snapshot has no memory map, or a part of it.
///
/// # Errors
/// Only when the trace cannot be read.
pub fn page_map<S: Source>(trace: &Trace<S>, snapshot: &Snapshot) -> Result<Option<PageMap>, TraceError> {
    let whole = Read::new(trace, snapshot)?.filter(|read| !read.is_cut);
    Ok(whole.map(|read| map(&read.seen())))
}

/// What ended sections of a snapshot's process have left; none of them where that is not known, as blocks were sampled or
/// parts of the snapshot are missing.
///
/// # Errors
/// Only when the trace cannot be read.
pub fn left<S: Source>(
    trace: &Trace<S>,
    snapshot: &Snapshot,
    sections: &[SectionLeft],
) -> Result<Vec<SectionLeft>, TraceError> {
    let read = Read::new(trace, snapshot)?.filter(|read| !read.is_cut && !read.is_sampled);
    let Some(read) = read.filter(|_| !sections.is_empty()) else { return Ok(Vec::new()) };
    let mut left = Left::new(sections);
    trace.blocks(snapshot.process.index, &snapshot.table, &mut Scratch::default(), |block| {
        if !block.is_pool {
            left.block(block);
        }
    })?;
    left.taken();
    let Read { map, mappings, runs, blocks, .. } = &read;
    let pages = Pages::new(map.page_bytes, runs, mappings);
    let regions = regions(mappings, blocks, map.heap);
    let heap = Heap { regions: &regions, blocks, pages: &pages, page_bytes: map.page_bytes.max(1) };
    heap.sweep(&mut left);
    Ok(left.finish())
}

/// What was read.
struct Read<'s> {
    map: &'s MemoryMap,
    mappings: Vec<Mapping>,
    runs: Vec<PageRun>,
    free: Vec<FreeRange>,
    blocks: Vec<Placed>,
    is_sampled: bool,
    /// Whether blocks, mappings or pages are missing.
    is_cut: bool,
    problems: Vec<String>,
}

impl<'s> Read<'s> {
    /// Nothing where the snapshot has no memory map.
    fn new<S: Source>(trace: &Trace<S>, snapshot: &'s Snapshot) -> Result<Option<Read<'s>>, TraceError> {
        let is_beside = |map: &&MemoryMap| map.table == snapshot.table.number;
        let Some(map) = snapshot.process.memory_maps.iter().find(is_beside) else { return Ok(None) };
        if snapshot.table.role != LiveRole::Snapshot {
            return Ok(None);
        }
        let index = snapshot.process.index;
        let (mut mappings, mut runs, mut free) = (Vec::new(), Vec::new(), Vec::new());
        let take = (|mapping| mappings.push(mapping), |run| runs.push(run), |range| free.push(range));
        let problems = trace.memory_map(index, map, &mut Scratch::default(), take)?;
        let (blocks, is_sampled) = blocks(trace, snapshot)?;
        let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
        let is_cut = !problems.is_empty() || snapshot.missing_blocks > 0;
        let free = lists::in_order(free);
        Ok(Some(Read { map, mappings, runs, free, blocks, is_sampled, is_cut, problems }))
    }

    fn seen(&self) -> Seen<'_> {
        let Read { map, mappings, runs, free, blocks, is_sampled, .. } = self;
        Seen { map, mappings, runs, free, blocks, is_sampled: *is_sampled }
    }
}

/// The blocks of the heap by address, and whether some were sampled.
fn blocks<S: Source>(trace: &Trace<S>, snapshot: &Snapshot) -> Result<(Vec<Placed>, bool), TraceError> {
    let nodes: HashMap<_, _> = snapshot.nodes.iter().copied().collect();
    let clock = trace.clock(snapshot.process.index);
    let (mut blocks, mut is_sampled) = (Vec::new(), false);
    trace.blocks(snapshot.process.index, &snapshot.table, &mut Scratch::default(), |block| {
        is_sampled |= block.rate != RateId::FULL;
        // Those of pools are inside of blocks of the heap.
        if !block.is_pool && block.address.0 != 0 {
            blocks.push(Placed {
                address: block.address.0,
                size_bytes: block.size_bytes,
                node: nodes.get(&block.stack).map_or(0, |node| node.0),
                age_ns: clock.age_ns(snapshot.table.ticks.saturating_sub(block.birth_ticks)),
            });
        }
    })?;
    if !blocks.is_sorted_by_key(|block: &Placed| block.address) {
        blocks.sort_unstable_by_key(|block| block.address);
    }
    Ok((blocks, is_sampled))
}

/// All that is looked at.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) map: &'a MemoryMap,
    pub(super) mappings: &'a [Mapping],
    pub(super) runs: &'a [PageRun],
    /// By address, none overlapping another.
    pub(super) free: &'a [FreeRange],
    pub(super) blocks: &'a [Placed],
    pub(super) is_sampled: bool,
}

/// The pages alone.
pub(super) fn map(seen: &Seen<'_>) -> PageMap {
    let Seen { map, mappings, runs, blocks, .. } = *seen;
    let pages = Pages::new(map.page_bytes, runs, mappings);
    let regions = regions(mappings, blocks, map.heap);
    let heap = Heap { regions: &regions, blocks, pages: &pages, page_bytes: map.page_bytes.max(1) };
    PageMap::new(&heap, blocks)
}

pub(super) fn explain(seen: &Seen<'_>) -> Memory {
    let Seen { map, mappings, runs, free, blocks, is_sampled } = *seen;
    let pages = Pages::new(map.page_bytes, runs, mappings);
    let regions = regions(mappings, blocks, map.heap);
    let heap = Heap { regions: &regions, blocks, pages: &pages, page_bytes: map.page_bytes.max(1) };
    let mut sums = Sums {
        waterfall: Waterfall::new(&regions, &pages),
        lists: Lists::new(free, &pages),
        pools: Pools::new(free, &pages),
        pins: Pins::default(),
        is_sampled,
    };
    let unplaced_blocks = heap.sweep(&mut sums);
    let Sums { waterfall, lists, pins, pools, .. } = sums;
    let mut pinned = pins.finish();
    let mut remedy = Remedy::new(&pinned);
    heap.sweep(&mut remedy);
    remedy.finish(&regions, heap.page_bytes, &mut pinned);
    let sum = |of: fn(&Mapping) -> u64| mappings.iter().map(of).fold(0, u64::saturating_add);
    let mut memory = Memory {
        map: map.clone(),
        swapped_bytes: sum(|of| of.swapped_bytes),
        untouched_bytes: waterfall.untouched_bytes,
        pinned,
        tops: if is_sampled { Vec::new() } else { waterfall.tops(blocks) },
        others: named(waterfall.others(), mappings),
        is_sampled,
        unplaced_blocks,
        arena_top_bytes: waterfall.arena_top_bytes(),
        ..Memory::default()
    };
    memory.trim_bytes = (map.heap == HeapLayout::Glibc && !is_sampled).then(|| match map.lists {
        ListsRead::Whole => waterfall.trim_bytes().min(lists::trim_bytes(free, &regions, &pages)),
        ListsRead::No | ListsRead::InPart => waterfall.trim_bytes(),
    });
    (memory.resident_bytes, memory.parts) = waterfall.finish(sum(|of| of.resident_bytes), is_sampled);
    if map.lists != ListsRead::No && !is_sampled {
        memory.lists = lists.finish(map.lists, &memory);
        memory.pools = pools.finish();
    }
    memory.coverage = coverage(&memory);
    memory
}

/// Both sums of one pass.
struct Sums<'a> {
    waterfall: Waterfall<'a>,
    lists: Lists<'a>,
    pools: Pools,
    pins: Pins,
    is_sampled: bool,
}

impl Visit for Sums<'_> {
    fn extent(&mut self, _heap: &Heap<'_>, block: usize, region: usize, extent: &Extent) {
        self.waterfall.extent(block, region, extent);
        self.lists.extent(extent);
        self.pools.extent(extent);
    }

    fn page(&mut self, heap: &Heap<'_>, used: &UsedPage<'_>) {
        self.waterfall.page(used);
        self.lists.page(used);
        if !self.is_sampled {
            self.pins.page(heap, used);
        }
    }
}

/// The share of what is the heap's or nobody's that is the heap's.
fn coverage(memory: &Memory) -> f64 {
    let nobodys = memory.bytes_of(PartName::OtherAnonymous) + memory.bytes_of(PartName::Unexplained);
    match (memory.heap_bytes(), nobodys) {
        (_, 0) => 1.0,
        (heap, nobodys) => heap as f64 / (heap + nobodys) as f64,
    }
}

fn named(others: Vec<OtherMapping>, mappings: &[Mapping]) -> Vec<OtherMapping> {
    let name =
        |start: u64| mappings.iter().find(|of| of.start <= start && start < of.end).map(|of| of.path.clone());
    others.into_iter().map(|of| OtherMapping { name: name(of.start).unwrap_or_default(), ..of }).collect()
}
