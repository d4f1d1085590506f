//! Which mappings are jemalloc's, with or without a live block: memory that it keeps of freed blocks is often in mappings of
//! its own, beside those that the program maps itself. It knows each of its extents by a table of pages, of which it has a
//! leaf for each GiB, and so does this:
//!
//! ```text
//!   data of the library -> leaf, a word for each page -> extent: flags, address, size, ...
//!   a block of its own structures begins with its size, of whole 2 MiB, and the address of the next
//! ```
//! That is so from 5.0 to 5.3, on 64 bits with pages of 4 KiB. *Guarantees:* what is marked is covered, from its begin to its
//! end, by extents that say so themselves: each has the very address under which the table has it. What is not so is left
//! alone, whatever the version.

use heapscribe_formats::model::{HeapLayout, Mapping};

use super::kind::of_library;
use crate::memory_map::ProcessMap;
use crate::remote::Remote;

const PAGE_SHIFT: u32 = 12;
const PAGE_BYTES: u64 = 1 << PAGE_SHIFT;
/// Pages of a leaf, and its bytes.
const LEAF_PAGES: u64 = 1 << 18;
const LEAF_BYTES: u64 = LEAF_PAGES * 8;
/// Leaves and extents are aligned at least so.
const LEAF_ALIGN: u64 = 64;
const EXTENT_ALIGN: u64 = 128;
/// An entry of a leaf is an address of 48 bits, with flags above and below.
const ADDRESS_BITS: u64 = (1 << 48) - 1;
/// Of an extent: its address, and its size above twelve bits of something else.
const EXTENT_ADDRESS: u64 = 8;
const EXTENT_BYTES: u64 = 16;
/// Its own structures come in blocks of whole huge pages.
const BASE_BYTES: u64 = 2 << 20;
/// Bytes of a library's data that are looked through, and leaves.
const DATA_BYTES_MAX: u64 = 16 << 20;
const LEAVES_MAX: usize = 1 << 10;
/// Extents that are followed in all.
const STEPS_MAX: u32 = 1 << 20;

/// Marks mappings of jemalloc's; of other heaps none is known but by its blocks.
pub(super) fn mark(memory: &mut Remote, map: &mut ProcessMap, layout: HeapLayout) {
    if layout != HeapLayout::Jemalloc {
        return;
    }
    let mut table = Table { leaves: leaves(memory, map), memory, steps: STEPS_MAX };
    let own: Vec<bool> = map.mappings.iter().map(|of| is_possible(of) && table.covers(of)).collect();
    map.mappings.iter_mut().zip(own).for_each(|(of, is_own)| of.is_heap = is_own);
}

fn is_possible(of: &Mapping) -> bool {
    let is_named = !of.path.is_empty() && !of.path.starts_with(b"[anon:");
    of.access.read && of.access.write && !of.access.shared && !of.is_recorder && !is_named
}

/// What the data of the library points to and may be a leaf.
fn leaves(memory: &mut Remote, map: &ProcessMap) -> Vec<u64> {
    let mut found = Vec::new();
    let mut end = 0;
    for of in &map.mappings {
        // Its data, and what of them is not in the file.
        let is_data = of.access.write
            && (of_library(&of.path) == Some(HeapLayout::Jemalloc) || of.start == end && of.path.is_empty());
        if !is_data {
            continue;
        }
        end = of.end;
        let pages = (of.start..of.end.min(of.start + DATA_BYTES_MAX)).step_by(PAGE_BYTES as usize);
        for page in pages.filter(|page| !of.path.is_empty() || is_in_memory(map, *page)) {
            let words = (page..page + PAGE_BYTES).step_by(8);
            found.extend(words.filter_map(|at| memory.word(at).filter(|to| is_leaf(map, *to))));
        }
    }
    found.sort_unstable();
    found.dedup();
    found.truncate(LEAVES_MAX);
    found
}

fn is_leaf(map: &ProcessMap, to: u64) -> bool {
    let holds = |of: &Mapping| of.start <= to && to.checked_add(LEAF_BYTES).is_some_and(|end| end <= of.end);
    to != 0 && to.is_multiple_of(LEAF_ALIGN) && {
        let at = map.mappings.partition_point(|of| of.end <= to);
        map.mappings.get(at).is_some_and(|of| is_possible(of) && holds(of))
    }
}

fn is_in_memory(map: &ProcessMap, at: u64) -> bool {
    let run = map.runs.partition_point(|run| run.start + run.pages * map.page_bytes <= at);
    map.runs.get(run).is_some_and(|run| run.start <= at && !run.is_swapped)
}

/// The table of pages.
struct Table<'a> {
    leaves: Vec<u64>,
    memory: &'a mut Remote,
    steps: u32,
}

impl Table<'_> {
    /// Whether a mapping is wholly its extents, and blocks of its own structures.
    fn covers(&mut self, of: &Mapping) -> bool {
        let mut at = of.start;
        let mut extents = 0;
        while at < of.end {
            let Some(steps) = self.steps.checked_sub(1) else { return false };
            self.steps = steps;
            let extent = self.extent_bytes(at);
            extents += u64::from(extent.is_some());
            let Some(bytes) = extent.or_else(|| self.base_bytes(at, of.end)) else { return false };
            at = at.saturating_add(bytes);
        }
        // A block of its own structures alone has a leaf or an extent in it.
        at == of.end && (extents > 0 || self.leaves.iter().any(|leaf| of.start <= *leaf && *leaf < of.end))
    }

    /// The size of the extent that begins at an address.
    fn extent_bytes(&mut self, at: u64) -> Option<u64> {
        let page = at >> PAGE_SHIFT & (LEAF_PAGES - 1);
        for n in 0..self.leaves.len() {
            let entry = self.memory.word(self.leaves[n] + page * 8).unwrap_or_default();
            let extent = entry & ADDRESS_BITS / EXTENT_ALIGN * EXTENT_ALIGN;
            if extent == 0 || self.memory.word(extent + EXTENT_ADDRESS).map(page_of) != Some(at) {
                continue;
            }
            let bytes = self.memory.word(extent + EXTENT_BYTES).map(page_of);
            if bytes.is_some_and(|bytes| bytes > 0) {
                return bytes;
            }
        }
        None
    }

    fn base_bytes(&mut self, at: u64, end: u64) -> Option<u64> {
        if !at.is_multiple_of(BASE_BYTES) {
            return None;
        }
        let (bytes, next) = (self.memory.word(at)?, self.memory.word(at + 8)?);
        let is_size = bytes > 0 && bytes.is_multiple_of(BASE_BYTES) && bytes <= end - at;
        (is_size && next.is_multiple_of(BASE_BYTES)).then_some(bytes)
    }
}

fn page_of(word: u64) -> u64 {
    word / PAGE_BYTES * PAGE_BYTES
}
