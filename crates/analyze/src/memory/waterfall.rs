//! The parts of the resident size. Each page in memory is counted once: where blocks have bytes of it, it is divided among
//! live bytes, rounding and what is free; else it is a free page of the heap, or of no heap.

use super::answer::{OtherMapping, Part, PartName, TopBlock};
use super::extents::Extent;
use super::limits::{OTHERS_MAX, TOPS_MAX};
use super::pages::Pages;
use super::placed::Placed;
use super::regions::{Class, Region};
use super::sweep::UsedPage;
use crate::answer::NodeId;

/// What the blocks in a region have of it.
#[derive(Clone, Copy, Debug, Default)]
struct InRegion {
    /// Resident bytes of pages in which a block has a byte.
    used_pages: u64,
    /// The last block, and where it and the one before it end.
    last: Option<usize>,
    end: u64,
    end_before: u64,
}

/// Sums up parts.
#[derive(Debug)]
pub(super) struct Waterfall<'a> {
    regions: &'a [Region],
    pages: &'a Pages,
    of_regions: Vec<InRegion>,
    parts: [u64; PartName::ALL.len()],
    pub(super) untouched_bytes: u64,
}

impl<'a> Waterfall<'a> {
    pub(super) fn new(regions: &'a [Region], pages: &'a Pages) -> Self {
        let of_regions = vec![InRegion::default(); regions.len()];
        Waterfall { regions, pages, of_regions, parts: [0; PartName::ALL.len()], untouched_bytes: 0 }
    }

    fn add(&mut self, part: PartName, bytes: u64) {
        let of = &mut self.parts[part as usize];
        *of = of.saturating_add(bytes); // what a damaged file claims may be anything
    }

    /// Blocks come by address.
    pub(super) fn extent(&mut self, block: usize, region: usize, extent: &Extent) {
        let of = &mut self.of_regions[region];
        (of.end_before, of.end, of.last) = (of.end, extent.end, Some(block));
    }

    pub(super) fn page(&mut self, used: &UsedPage<'_>) {
        if !used.page.is_resident {
            self.untouched_bytes += used.live_bytes;
            return;
        }
        let rest = used.used_bytes - used.live_bytes;
        self.of_regions[used.region].used_pages += used.page.bytes;
        self.add(PartName::Live, used.live_bytes);
        let is_open = self.regions[used.region].class == Class::Open;
        self.add(if is_open { PartName::MappedTails } else { PartName::Rounding }, rest);
        self.add(PartName::FreeInUsedPages, used.page.bytes - used.used_bytes);
    }

    /// Counts the pages that no block is in, and what the kernel counts besides; the resident size, and its parts.
    pub(super) fn finish(mut self, resident_bytes: u64, is_sampled: bool) -> (u64, Vec<Part>) {
        for (region, of) in self.regions.iter().zip(self.of_regions.clone()) {
            let other = region.other.unwrap_or(PartName::Unexplained);
            let resident = |from: u64, to: u64| self.pages.resident_bytes(from, to);
            if let Some(bytes) = region.counted_bytes {
                self.add(other, bytes);
                continue;
            }
            let rest = resident(region.start, region.end).saturating_sub(of.used_pages);
            if !region.is_heap() {
                self.add(other, rest);
            } else if of.last.is_none() {
                let is_whole = region.class != Class::Brk;
                self.add(if is_whole { PartName::FreeArenas } else { PartName::FreePages }, rest);
            } else if matches!(region.class, Class::Slab { .. }) {
                self.add(PartName::FreePages, rest); // it does not grow at its end
            } else {
                let above = resident(self.pages.ceil(of.end), region.end).min(rest);
                self.add(PartName::FreePagesAtTop, above);
                self.add(PartName::FreePages, rest - above);
            }
        }
        if is_sampled {
            self.merge_heap();
        }
        let known = self.parts.iter().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        // Pages are read after the kernel's figures, and may be more by then.
        let resident_bytes = resident_bytes.max(known);
        self.add(PartName::Unexplained, resident_bytes - known);
        let parts = PartName::ALL.iter().zip(self.parts).map(|(name, bytes)| Part { name: *name, bytes });
        (resident_bytes, parts.filter(|part| part.bytes > 0 || part.name == PartName::Unexplained).collect())
    }

    /// What glibc's `malloc_trim(0)` gives back: pages between blocks, and the end of the heap that grows by brk.
    pub(super) fn trim_bytes(&self) -> u64 {
        let free = |(region, of): (&Region, &InRegion)| {
            let end = match (region.class, of.last) {
                (Class::Brk, _) => region.end,
                (Class::Arena, Some(_)) => self.pages.ceil(of.end),
                _ => return 0,
            };
            self.pages.resident_bytes(region.start, end).saturating_sub(of.used_pages)
        };
        self.regions.iter().zip(&self.of_regions).map(free).sum()
    }

    /// What is free at the end of arenas that have a live block.
    pub(super) fn arena_top_bytes(&self) -> u64 {
        let is_arena =
            |(region, of): &(&Region, &InRegion)| region.class == Class::Arena && of.last.is_some();
        let arenas = self.regions.iter().zip(&self.of_regions).filter(is_arena);
        arenas.map(|(region, of)| self.pages.resident_bytes(self.pages.ceil(of.end), region.end)).sum()
    }

    /// Of a heap of which only samples are known, no page is known to be free.
    fn merge_heap(&mut self) {
        let heap = PartName::ALL.iter().filter(|part| part.is_heap());
        let bytes = heap.map(|part| std::mem::take(&mut self.parts[*part as usize])).sum();
        self.add(PartName::SampledHeap, bytes);
    }

    /// The last block of each heap that could shrink at its end, with what is below and above it.
    pub(super) fn tops(&self, blocks: &[Placed]) -> Vec<TopBlock> {
        let top = |(region, of): (&Region, &InRegion)| {
            let block = blocks[of.last.filter(|_| matches!(region.class, Class::Brk | Class::Arena))?];
            let top = self.pages.ceil(of.end);
            let from = self.pages.ceil(of.end_before.max(region.start));
            Some(TopBlock {
                address: block.address,
                size_bytes: block.size_bytes,
                node: NodeId(block.node),
                age_ns: block.age_ns,
                is_brk: region.class == Class::Brk,
                below_bytes: self.pages.resident_bytes(region.start, top).saturating_sub(of.used_pages),
                alone_bytes: self.pages.resident_bytes(from, top),
                above_bytes: self.pages.resident_bytes(top, region.end),
            })
        };
        let mut tops: Vec<_> = self.regions.iter().zip(&self.of_regions).filter_map(top).collect();
        tops.sort_by_key(|top| (std::cmp::Reverse(top.below_bytes), top.address));
        tops.truncate(TOPS_MAX);
        tops
    }

    /// The largest anonymous mappings that are nobody's.
    pub(super) fn others(&self) -> Vec<OtherMapping> {
        let is_other = |region: &Region| !region.is_heap() && region.other == Some(PartName::OtherAnonymous);
        let regions = self.regions.iter().zip(&self.of_regions).filter(|(region, _)| is_other(region));
        let mapping = |(region, of): (&Region, &InRegion)| OtherMapping {
            start: region.start,
            end: region.end,
            resident_bytes: self.pages.resident_bytes(region.start, region.end).saturating_sub(of.used_pages),
            name: Vec::new(),
        };
        let mut others: Vec<_> = regions.map(mapping).filter(|of| of.resident_bytes > 0).collect();
        others.sort_by_key(|of| (std::cmp::Reverse(of.resident_bytes), of.start));
        others.truncate(OTHERS_MAX);
        others
    }
}
