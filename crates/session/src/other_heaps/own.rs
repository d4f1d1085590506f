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

use std::collections::BTreeMap;

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
/// Extents that are looked up in all.
const LOOKUPS_MAX: u32 = 1 << 20;

/// Marks mappings of jemalloc's; of other heaps none is known but by its blocks.
pub(super) fn mark(memory: &mut Remote, map: &mut ProcessMap, layout: HeapLayout) {
    if layout != HeapLayout::Jemalloc {
        return;
    }
    let mut table =
        Table { leaves: leaves(memory, map), known: BTreeMap::new(), memory, lookups: LOOKUPS_MAX };
    // Twice: what has only leaves is known by them, when those that they are of have been seen.
    for _ in 0..2 {
        for of in map.mappings.iter_mut().filter(|of| is_possible(of) && !of.is_heap) {
            of.is_heap = table.covers(of);
        }
    }
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
        let pages =
            (of.start..of.end.min(of.start.saturating_add(DATA_BYTES_MAX))).step_by(PAGE_BYTES as usize);
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
    /// Those that may be one.
    leaves: Vec<u64>,
    /// The leaf of each GiB of which one is known.
    known: BTreeMap<u64, u64>,
    memory: &'a mut Remote,
    lookups: u32,
}

impl Table<'_> {
    /// Whether a mapping is wholly its extents, and blocks of its own structures.
    fn covers(&mut self, of: &Mapping) -> bool {
        let mut at = of.start;
        let mut extents = 0;
        while at < of.end {
            let extent = self.extent_bytes(at);
            extents += u64::from(extent.is_some());
            let Some(bytes) = extent.or_else(|| self.base_bytes(at, of.end)) else { return false };
            at = at.saturating_add(bytes);
        }
        // A block of its own structures alone has a leaf in it.
        let has_leaf = || self.known.values().any(|leaf| of.start <= *leaf && *leaf < of.end);
        at == of.end && (extents > 0 || has_leaf())
    }

    /// The size of the extent that begins at an address.
    fn extent_bytes(&mut self, at: u64) -> Option<u64> {
        let part = at >> PAGE_SHIFT >> LEAF_PAGES.ilog2();
        if let Some(leaf) = self.known.get(&part) {
            return self.in_leaf(*leaf, at);
        }
        for n in 0..self.leaves.len() {
            if let Some(bytes) = self.in_leaf(self.leaves[n], at) {
                self.known.insert(part, self.leaves[n]);
                return Some(bytes);
            }
        }
        None
    }

    fn in_leaf(&mut self, leaf: u64, at: u64) -> Option<u64> {
        self.lookups = self.lookups.checked_sub(1)?;
        let page = at >> PAGE_SHIFT & (LEAF_PAGES - 1);
        let entry = self.memory.word(leaf + page * 8)?;
        let extent = (entry & ADDRESS_BITS) / EXTENT_ALIGN * EXTENT_ALIGN;
        if extent == 0 || self.memory.word(extent + EXTENT_ADDRESS).map(page_of) != Some(at) {
            return None;
        }
        self.memory.word(extent + EXTENT_BYTES).map(page_of).filter(|bytes| *bytes > 0)
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use heapscribe_formats::model::{Access, PageRun};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;
    const DATA: u64 = PAGE_BYTES;
    const BASE: u64 = 2 * MIB;
    const LEAF: u64 = BASE + 0x1_0000;
    const EXTENTS: u64 = BASE + 4 * MIB;
    /// Two extents, and beside them memory of the program's own.
    const KEPT: u64 = 10 * MIB;
    const OWN: u64 = 12 * MIB;
    const END: u64 = 14 * MIB;

    /// The words of a program with jemalloc.
    fn words() -> Vec<(u64, u64)> {
        let mut words = vec![(DATA + 64, LEAF), (DATA + 72, OWN), (BASE, 6 * MIB)];
        for (n, (address, bytes)) in (0..).zip([(KEPT, MIB / 2), (KEPT + MIB / 2, MIB + MIB / 2)]) {
            let extent = EXTENTS + n * EXTENT_ALIGN;
            words.push((LEAF + (address >> PAGE_SHIFT) * 8, extent | 1 | 5 << 48));
            words.extend([(extent + EXTENT_ADDRESS, address), (extent + EXTENT_BYTES, bytes | 7)]);
        }
        words
    }

    /// First addresses of what is marked, in MiB.
    fn marked(words: &[(u64, u64)]) -> Vec<u64> {
        let file: File = tempfile::tempfile().unwrap();
        file.set_len(END).unwrap();
        words.iter().for_each(|(at, word)| file.write_all_at(&word.to_le_bytes(), *at).unwrap());
        let access = Access { read: true, write: true, ..Access::default() };
        let mapping = |start, end, path: &str| Mapping {
            start,
            end,
            access,
            path: path.as_bytes().to_vec(),
            ..Mapping::default()
        };
        let mappings = vec![
            mapping(DATA, DATA + PAGE_BYTES, "/usr/lib/libjemalloc.so.2"),
            mapping(BASE, BASE + 6 * MIB, ""),
            mapping(KEPT, OWN, ""),
            mapping(OWN, END, ""),
        ];
        let runs = vec![PageRun { start: 0, pages: END / PAGE_BYTES, is_swapped: false }];
        let mut map = ProcessMap { page_bytes: PAGE_BYTES, mappings, runs, ..ProcessMap::default() };
        mark(&mut Remote::new(file), &mut map, HeapLayout::Jemalloc);
        map.mappings.iter().filter(|of| of.is_heap).map(|of| of.start / MIB).collect()
    }

    #[test]
    fn what_its_table_covers_is_jemallocs() {
        assert_eq!(marked(&words()), [2, 10]);
        // An extent that says another address, one that ends too early, and none at all.
        let without = |at: u64, word: u64| marked(&[words(), vec![(at, word)]].concat());
        let none: [u64; 0] = [];
        assert_eq!(without(EXTENTS + EXTENT_ADDRESS, KEPT + PAGE_BYTES), none);
        assert_eq!(without(EXTENTS + EXTENT_ALIGN + EXTENT_BYTES, MIB), [2]);
        assert_eq!(without(DATA + 64, 0), none);
    }

    proptest! {
        #[test]
        fn whatever_is_in_memory_it_comes_to_an_end(
            damage in vec((0..END / 8, prop_oneof![any::<u64>(), 0..END]), 0..20),
            places in vec((0..12usize, 0..END), 0..6),
        ) {
            let mut words = words();
            let len = words.len();
            places.iter().for_each(|(at, word)| words[at % len].1 = *word);
            words.extend(damage.iter().map(|(at, word)| (at * 8, *word)));
            prop_assert!(marked(&words).len() <= 3);
        }
    }
}
