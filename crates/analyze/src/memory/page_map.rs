//! The heap as a map of cells of equal size: what of each is in memory, how much of that is live, and how old its blocks are;
//! and whose blocks are in some of them. A cell is one page, or as many as it takes to have a bounded number of cells.

use std::collections::BTreeMap;

use super::extents::Extent;
use super::limits::MAP_CELLS_MAX;
use super::placed::Placed;
use super::regions::Class;
use super::sweep::{Heap, UsedPage, Visit};
use crate::answer::{Amount, NodeId};

/// The map.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PageMap {
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages of a cell.
    pub cell_pages: u64,
    /// By address; what has neither a block nor a page in memory has no cell.
    pub cells: Vec<MapCell>,
    blocks: Vec<Placed>,
}

/// A part of the heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MapCell {
    /// Its first page: its address by the size of a page.
    pub page: u64,
    /// Whose memory it is.
    pub part: HeapPart,
    /// What of it is in memory, bytes.
    pub resident_bytes: u64,
    /// What of that is blocks with their headers and rounding.
    pub used_bytes: u64,
    /// What of that was asked for.
    pub live_bytes: u64,
    /// Blocks that begin in it.
    pub blocks: u64,
    /// Age of the youngest block with a byte in it, ns; nothing where there is none.
    pub youngest_ns: Option<u64>,
    /// Age of the oldest.
    pub oldest_ns: Option<u64>,
}

/// The kinds of memory that a heap has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum HeapPart {
    /// What grows by brk.
    #[default]
    Brk,
    /// An arena.
    Arena,
    /// Blocks with mappings of their own.
    Mapped,
    /// That of another heap.
    Foreign,
}

impl HeapPart {
    /// Its name in JSON, which does not change.
    pub fn key(self) -> &'static str {
        match self {
            HeapPart::Brk => "brk",
            HeapPart::Arena => "arena",
            HeapPart::Mapped => "mapped",
            HeapPart::Foreign => "foreign",
        }
    }

    fn of(class: Class) -> HeapPart {
        match class {
            Class::Brk | Class::Fixed => HeapPart::Brk,
            Class::Arena => HeapPart::Arena,
            Class::Open => HeapPart::Mapped,
            Class::Foreign | Class::Pool | Class::Slab { .. } => HeapPart::Foreign,
        }
    }
}

impl PageMap {
    /// What stacks have in a range of pages: blocks with a byte in it, and these bytes.
    pub fn stacks_in(&self, page: u64, pages: u64) -> Vec<(NodeId, Amount)> {
        let from = page.saturating_mul(self.page_bytes);
        let to = page.saturating_add(pages).saturating_mul(self.page_bytes);
        let mut stacks = BTreeMap::<u32, Amount>::new();
        let end = self.blocks.partition_point(|block| block.address < to);
        // A block that begins earlier may reach in: the last one before does, or none, as no byte is two blocks'.
        let first = self.blocks.partition_point(|block| block.address < from).saturating_sub(1);
        for block in self.blocks.get(first..end).unwrap_or_default() {
            let block_end = block.address.saturating_add(block.size_bytes);
            let bytes = block_end.min(to).saturating_sub(block.address.max(from));
            let begins = block.address >= from;
            if bytes > 0 || begins {
                stacks.entry(block.node).or_default().add(&Amount { blocks: 1, bytes });
            }
        }
        stacks.into_iter().map(|(node, amount)| (NodeId(node), amount)).collect()
    }

    /// Of all that is seen.
    pub(super) fn new(heap: &Heap<'_>, blocks: &[Placed]) -> PageMap {
        let mut cells = Cells { page_bytes: heap.page_bytes, log2_pages: 0, cells: BTreeMap::new() };
        heap.sweep(&mut cells);
        for region in heap.regions.iter().filter(|region| region.is_heap()) {
            for (from, to) in heap.pages.within(region.start, region.end) {
                cells.resident(HeapPart::of(region.class), from, to);
            }
        }
        let Cells { page_bytes, log2_pages, cells } = cells;
        let cell =
            |((_, page), cell): ((HeapPart, u64), MapCell)| MapCell { page: page << log2_pages, ..cell };
        let mut cells: Vec<MapCell> = cells.into_iter().map(cell).collect();
        cells.sort_by_key(|cell| (cell.page, cell.part));
        PageMap { page_bytes, cell_pages: 1 << log2_pages, cells, blocks: blocks.to_vec() }
    }
}

/// Cells that are being made.
struct Cells {
    page_bytes: u64,
    log2_pages: u32,
    /// By kind and number.
    cells: BTreeMap<(HeapPart, u64), MapCell>,
}

impl Cells {
    fn at(&mut self, part: HeapPart, address: u64) -> &mut MapCell {
        while self.cells.len() >= MAP_CELLS_MAX {
            self.widen();
        }
        let number = (address / self.page_bytes) >> self.log2_pages;
        self.cells.entry((part, number)).or_insert_with(|| MapCell { part, ..MapCell::default() })
    }

    /// Makes one cell of each two.
    fn widen(&mut self) {
        self.log2_pages += 1;
        let mut wide = BTreeMap::<(HeapPart, u64), MapCell>::new();
        for ((part, number), cell) in std::mem::take(&mut self.cells) {
            wide.entry((part, number / 2))
                .or_insert_with(|| MapCell { part, ..MapCell::default() })
                .add(&cell);
        }
        self.cells = wide;
    }

    /// Where the cell of an address ends.
    fn cell_end(&self, address: u64) -> u64 {
        let cell_bytes = self.page_bytes << self.log2_pages;
        (address / cell_bytes).saturating_add(1).saturating_mul(cell_bytes)
    }

    /// Counts what is in memory.
    fn resident(&mut self, part: HeapPart, mut from: u64, to: u64) {
        while from < to {
            let end = self.cell_end(from).min(to);
            self.at(part, from).resident_bytes += end - from;
            from = end;
        }
    }
}

impl MapCell {
    fn add(&mut self, other: &MapCell) {
        self.resident_bytes += other.resident_bytes;
        self.used_bytes += other.used_bytes;
        self.live_bytes += other.live_bytes;
        self.blocks += other.blocks;
        self.aged(other.youngest_ns);
        self.aged(other.oldest_ns);
    }

    fn aged(&mut self, age_ns: Option<u64>) {
        let Some(age_ns) = age_ns else { return };
        self.youngest_ns = Some(self.youngest_ns.map_or(age_ns, |of| of.min(age_ns)));
        self.oldest_ns = Some(self.oldest_ns.map_or(age_ns, |of| of.max(age_ns)));
    }
}

impl Visit for Cells {
    fn extent(&mut self, heap: &Heap<'_>, block: usize, region: usize, extent: &Extent) {
        let part = HeapPart::of(heap.regions[region].class);
        let Placed { address, age_ns, .. } = heap.blocks[block];
        self.at(part, address.clamp(extent.start, extent.end - 1)).blocks += 1;
        let (mut from, to) = (extent.start, extent.end);
        while from < to {
            let end = self.cell_end(from).min(to);
            let (live_from, live_to) = (extent.live.0.clamp(from, end), extent.live.1.clamp(from, end));
            let cell = self.at(part, from);
            cell.used_bytes += heap.pages.resident_bytes(from, end);
            cell.live_bytes += heap.pages.resident_bytes(live_from, live_to);
            cell.aged(Some(age_ns));
            from = end;
        }
    }

    fn page(&mut self, heap: &Heap<'_>, used: &UsedPage<'_>) {
        let region = &heap.regions[used.region];
        // All that is in memory of the others is counted afterwards.
        if !region.is_heap() && used.page.is_resident {
            let end = used.page.start.saturating_add(used.page.bytes);
            self.resident(HeapPart::of(region.class), used.page.start, end);
        }
    }
}
