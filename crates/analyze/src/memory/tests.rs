//! The answer against a twin that asks each byte whose it is.

use std::collections::{BTreeMap, BTreeSet};

use heapscribe_formats::{Access, HeapLayout, Mapping, MemoryMap, PageRun};
use proptest::collection::vec;
use proptest::prelude::*;

use super::answer::{Memory, PartName};
use super::page_map::PageMap;
use super::placed::Placed;
use super::read::{Seen, explain, map as page_map};

/// Small, so that each byte can be asked.
const PAGE: u64 = 64;
const START: u64 = 1 << 20;
const PAGES: u64 = 24;

fn heap_mapping(resident_bytes: u64) -> Mapping {
    let access = Access { read: true, write: true, execute: false, shared: false };
    let (end, path) = (START + PAGES * PAGE, b"[heap]".to_vec());
    Mapping { start: START, end, access, path, resident_bytes, ..Mapping::default() }
}

fn map() -> MemoryMap {
    MemoryMap { page_bytes: PAGE, heap: HeapLayout::Glibc, ..MemoryMap::default() }
}

fn answer(blocks: &[Placed], resident: &[bool]) -> Memory {
    answer_with_huge(blocks, resident, 0)
}

/// Of a heap of which the kernel says that so many bytes are in huge pages.
fn answer_with_huge(blocks: &[Placed], resident: &[bool], huge_bytes: u64) -> Memory {
    let pages = (0..).zip(resident).filter(|(_, is_resident)| **is_resident);
    let runs: Vec<_> =
        pages.map(|(n, _)| PageRun { start: START + n * PAGE, pages: 1, is_swapped: false }).collect();
    let mappings = [Mapping { huge_bytes, ..heap_mapping(runs.len() as u64 * PAGE) }];
    explain(&Seen { map: &map(), mappings: &mappings, runs: &runs, free: &[], blocks, is_sampled: false })
}

fn cells(blocks: &[Placed], resident: &[bool]) -> PageMap {
    let pages = (0..).zip(resident).filter(|(_, is_resident)| **is_resident);
    let runs: Vec<_> =
        pages.map(|(n, _)| PageRun { start: START + n * PAGE, pages: 1, is_swapped: false }).collect();
    let mappings = [heap_mapping(runs.len() as u64 * PAGE)];
    page_map(&Seen { map: &map(), mappings: &mappings, runs: &runs, free: &[], blocks, is_sampled: false })
}

/// What a table of pages of `PAGE` maps: the heap is three of these.
const HUGE_PAGES: u64 = PAGE / 8;

/// Pages in memory with their sizes, where those that may be huge are.
fn pages(resident: &[bool], are_huge: bool) -> Vec<(u64, u64)> {
    let mut pages = Vec::new();
    for (huge, of_huge) in (0..).zip(resident.chunks(HUGE_PAGES as usize)) {
        let start = START + huge * HUGE_PAGES * PAGE;
        if are_huge && of_huge.iter().all(|is_resident| *is_resident) {
            pages.push((start, HUGE_PAGES * PAGE));
            continue;
        }
        let small = (0..).zip(of_huge).filter(|(_, is_resident)| **is_resident);
        pages.extend(small.map(|(n, _)| (start + n * PAGE, PAGE)));
    }
    pages
}

/// Whose a byte of the heap is, and whether it is one that was asked for.
type Owners = BTreeMap<u64, (usize, bool)>;

fn owners(blocks: &[Placed]) -> Owners {
    let mut owners = Owners::new();
    for (number, block) in blocks.iter().enumerate() {
        let chunk = ((block.size_bytes + 23) / 16 * 16).max(32);
        for at in block.address - 8..(block.address - 8 + chunk).min(START + PAGES * PAGE) {
            let is_live = (block.address..block.address + block.size_bytes).contains(&at);
            owners.entry(at).or_insert((number, is_live));
        }
    }
    owners
}

/// Parts by name, and of each stack its blocks, live bytes and charge in pages that are nearly empty.
type Twin = (BTreeMap<PartName, u64>, BTreeMap<u32, (u64, u64, f64)>);

fn twin(blocks: &[Placed], pages: &[(u64, u64)]) -> Twin {
    let owners = owners(blocks);
    let last = owners.keys().last().copied();
    let mut parts: BTreeMap<PartName, u64> = BTreeMap::new();
    let mut counted: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
    let mut charges: BTreeMap<u32, (u64, u64, f64)> = BTreeMap::new();
    for &(start, bytes) in pages {
        let of_page: Vec<_> = owners.range(start..start + bytes).map(|(_, of)| *of).collect();
        let mut add = |part, bytes: usize| *parts.entry(part).or_default() += bytes as u64;
        if of_page.is_empty() {
            let is_above = last.is_some_and(|last| start > last);
            add(if is_above { PartName::FreePagesAtTop } else { PartName::FreePages }, bytes as usize);
            continue;
        }
        let live = of_page.iter().filter(|(_, is_live)| *is_live).count();
        add(PartName::Live, live);
        add(PartName::Rounding, of_page.len() - live);
        add(PartName::FreeInUsedPages, bytes as usize - of_page.len());
        if of_page.len() as u64 * 4 > bytes * 3 {
            continue;
        }
        let mut in_page: BTreeMap<usize, u64> = BTreeMap::new();
        of_page
            .iter()
            .for_each(|(block, is_live)| *in_page.entry(*block).or_default() += u64::from(*is_live));
        let sum: u64 = in_page.values().map(|bytes| (*bytes).max(1)).sum();
        for (block, live_bytes) in in_page {
            let of = charges.entry(blocks[block].node).or_default();
            of.1 += live_bytes;
            of.2 += (bytes * live_bytes.max(1)) as f64 / sum as f64;
            counted.entry(blocks[block].node).or_default().insert(block);
        }
    }
    counted.into_iter().for_each(|(node, blocks)| charges.entry(node).or_default().0 = blocks.len() as u64);
    parts.retain(|_, bytes| *bytes > 0);
    (parts, charges)
}

/// What is resident in pages of which each byte that is owned is of these stacks, and what their blocks take in all pages.
fn back(blocks: &[Placed], pages: &[(u64, u64)], gone: &BTreeSet<u32>) -> (u64, u64) {
    let owners = owners(blocks);
    let (mut back, mut taken) = (0, 0);
    for &(start, bytes) in pages {
        let mut nodes =
            owners.range(start..start + bytes).map(|(_, (block, _))| blocks[*block].node).peekable();
        let has_some = nodes.peek().is_some();
        let nodes: Vec<_> = nodes.collect();
        taken += nodes.iter().filter(|node| gone.contains(node)).count() as u64;
        back += if has_some && nodes.iter().all(|node| gone.contains(node)) { bytes } else { 0 };
    }
    (back, taken)
}

/// Which pages are in memory; of what may be a huge page mostly all of them.
fn resident() -> impl Strategy<Value = Vec<bool>> {
    let huge = || prop_oneof![Just(vec![true; HUGE_PAGES as usize]), vec(any::<bool>(), HUGE_PAGES as usize)];
    vec(huge(), (PAGES / HUGE_PAGES) as usize).prop_map(|huge| huge.concat())
}

/// Blocks of a heap, by address, that may overlap as they do in a copy of no one instant.
fn blocks() -> impl Strategy<Value = Vec<Placed>> {
    let block = (0..(PAGES * PAGE / 16), 0..180u64, 0..4u32, 0..9u64);
    vec(block, 0..30).prop_map(|blocks| {
        let place = |(at, size_bytes, node, age_ns)| Placed {
            address: START + 16 + at * 16,
            size_bytes,
            node,
            age_ns,
        };
        let mut blocks: Vec<_> = blocks.into_iter().map(place).collect();
        blocks.retain(|block| block.address < START + PAGES * PAGE);
        blocks.sort_by_key(|block| block.address);
        blocks.dedup_by_key(|block| block.address);
        blocks
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]
    #[test]
    fn every_byte_is_counted_once_and_every_page_is_charged_in_whole(
        blocks in blocks(),
        resident in resident(),
        are_huge in any::<bool>(),
    ) {
        let pages = pages(&resident, are_huge);
        let huge_bytes = pages.iter().map(|(_, bytes)| *bytes).filter(|bytes| *bytes > PAGE).sum();
        let memory = answer_with_huge(&blocks, &resident, huge_bytes);
        let (parts, charges) = twin(&blocks, &pages);
        let found = memory.parts.iter().filter(|part| part.bytes > 0).map(|part| (part.name, part.bytes));
        prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), parts);
        prop_assert_eq!(memory.parts.iter().map(|part| part.bytes).sum::<u64>(), memory.resident_bytes);
        prop_assert_eq!(memory.pinned_bytes() % PAGE, 0);
        prop_assert_eq!(memory.pinned.len(), charges.len());
        for of in &memory.pinned {
            let (blocks, live_bytes, charged) = charges[&of.node.0];
            prop_assert_eq!((of.blocks, of.live_bytes), (blocks, live_bytes));
            // A byte of rounding for each page at most.
            prop_assert!((of.resident_bytes as f64 - charged).abs() <= PAGES as f64, "{of:?} {charged}");
        }
        let mut gone = BTreeSet::new();
        for of in &memory.pinned {
            prop_assert_eq!(of.alone_bytes, back(&blocks, &pages, &BTreeSet::from([of.node.0])).0);
            gone.insert(of.node.0);
            let (back, taken) = back(&blocks, &pages, &gone);
            prop_assert_eq!(of.with_previous_bytes, back);
            prop_assert_eq!(of.in_pool_bytes, back.saturating_sub(taken.next_multiple_of(PAGE)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn every_page_has_a_cell_with_what_is_in_it(
        blocks in blocks(),
        resident in vec(any::<bool>(), PAGES as usize),
    ) {
        let (map, owners) = (cells(&blocks, &resident), owners(&blocks));
        let owning: BTreeSet<usize> = owners.values().map(|(block, _)| *block).collect();
        prop_assert_eq!(map.cells.iter().map(|cell| cell.blocks).sum::<u64>(), owning.len() as u64);
        for page in 0..PAGES {
            let start = START + page * PAGE;
            let of_page: Vec<_> = owners.range(start..start + PAGE).map(|(_, of)| *of).collect();
            let is_resident = resident[page as usize];
            let cell = map.cells.iter().find(|cell| cell.page * PAGE == start);
            let Some(cell) = cell else {
                prop_assert!(of_page.is_empty() && !is_resident);
                continue;
            };
            let seen = |bytes: usize| if is_resident { bytes as u64 } else { 0 };
            let live = of_page.iter().filter(|(_, is_live)| *is_live).count();
            prop_assert_eq!(
                [cell.resident_bytes, cell.used_bytes, cell.live_bytes],
                [seen(PAGE as usize), seen(of_page.len()), seen(live)]
            );
            let ages = of_page.iter().map(|(block, _)| blocks[*block].age_ns);
            prop_assert_eq!([cell.youngest_ns, cell.oldest_ns], [ages.clone().min(), ages.max()]);
        }
    }
}

#[test]
fn many_pages_share_a_cell_and_blocks_are_found_by_page() {
    let far = |n: u64| Placed {
        address: START + 16 + n * 64 * PAGE,
        size_bytes: 100,
        node: n as u32 % 3,
        age_ns: n,
    };
    let blocks: Vec<_> = (0..20_000).map(far).collect();
    let end = START + 20_000 * 64 * PAGE;
    let mapping = Mapping { end, ..heap_mapping(0) };
    let runs = [PageRun { start: START, pages: 1, is_swapped: false }];
    let seen = Seen {
        map: &map(),
        mappings: &[mapping],
        runs: &runs,
        free: &[],
        blocks: &blocks,
        is_sampled: false,
    };
    let map = page_map(&seen);
    assert!(map.cells.len() <= super::limits::MAP_CELLS_MAX && map.cell_pages.is_power_of_two());
    assert_eq!(map.cells.iter().map(|cell| cell.blocks).sum::<u64>(), 20_000);
    let first = map.cells[0];
    assert_eq!(
        (first.page, first.resident_bytes, first.oldest_ns),
        (START / PAGE, PAGE, Some(map.cell_pages / 64 - 1))
    );
    // Page 1 of the heap has the end of the first block; page 64 the begin of the second.
    let in_page = |n: u64| {
        let found = map.stacks_in(START / PAGE + n, 1).into_iter();
        found.map(|(node, amount)| (node.0, amount.blocks, amount.bytes)).collect::<Vec<_>>()
    };
    assert_eq!((in_page(0), in_page(1)), (vec![(0, 1, 48)], vec![(0, 1, 52)]));
    assert_eq!((in_page(2), in_page(64)), (vec![], vec![(1, 1, 48)]));
}

fn block(address: u64, size_bytes: u64, node: u32) -> Placed {
    Placed { address: START + address, size_bytes, node, age_ns: u64::from(node) }
}

#[test]
fn the_block_at_the_top_has_what_is_free_below_it() {
    let mut resident = [true; PAGES as usize];
    resident[5] = false;
    // A block in page 0 and one in page 10; 9 pages between them, of which one is not in memory.
    let memory = answer(&[block(16, 24, 1), block(10 * PAGE + 16, 24, 2)], &resident);
    let top = memory.tops[0];
    assert_eq!((top.address, top.node.0, top.is_brk, top.age_ns), (START + 10 * PAGE + 16, 2, true, 2));
    assert_eq!((top.below_bytes, top.alone_bytes, top.above_bytes), (8 * PAGE, 9 * PAGE, 13 * PAGE));
    assert_eq!(memory.bytes_of(PartName::FreePagesAtTop), 13 * PAGE);
    assert_eq!(memory.bytes_of(PartName::FreePages), 8 * PAGE);
}

#[test]
fn what_the_kernel_counts_and_nothing_explains_is_a_part() {
    let runs = [PageRun { start: START, pages: 2, is_swapped: false }];
    let mappings = [heap_mapping(5 * PAGE)];
    let seen = Seen {
        map: &map(),
        mappings: &mappings,
        runs: &runs,
        free: &[],
        blocks: &[block(16, 40, 1)],
        is_sampled: false,
    };
    let memory = explain(&seen);
    assert_eq!((memory.resident_bytes, memory.bytes_of(PartName::Unexplained)), (5 * PAGE, 3 * PAGE));
    assert_eq!(memory.coverage, 0.4);
    // More pages than the kernel had counted before: they came since.
    let mappings = [heap_mapping(PAGE)];
    let memory = explain(&Seen { mappings: &mappings, ..seen });
    assert_eq!((memory.resident_bytes, memory.bytes_of(PartName::Unexplained)), (2 * PAGE, 0));
    // Samples say nothing of single pages.
    let memory = explain(&Seen { is_sampled: true, ..seen });
    assert_eq!((memory.bytes_of(PartName::SampledHeap), memory.pinned.len()), (2 * PAGE, 0));
}

#[test]
fn at_the_end_of_an_arena_nothing_comes_back() {
    let access = Access { read: true, write: true, execute: false, shared: false };
    let (start, page) = (64 << 20, 4096);
    let end = start + 6 * page;
    let arena = Mapping { start, end, access, resident_bytes: 6 * page, ..Mapping::default() };
    let reserve = Mapping { start: end, end: 128 << 20, ..Mapping::default() };
    let runs = [PageRun { start, pages: 6, is_swapped: false }];
    let at = |n: u64, node| Placed { address: start + n * page + 64, size_bytes: 24, node, age_ns: 0 };
    let map = MemoryMap { page_bytes: page, heap: HeapLayout::Glibc, ..MemoryMap::default() };
    // Pages 0 and 1 have blocks of stack 1, page 3 one of stack 2, page 4 one of stack 1 again.
    let blocks = [at(0, 1), at(1, 1), at(3, 2), at(4, 1)];
    let memory = explain(&Seen {
        map: &map,
        mappings: &[arena, reserve],
        runs: &runs,
        free: &[],
        blocks: &blocks,
        is_sampled: false,
    });
    assert_eq!(
        (memory.bytes_of(PartName::FreePages), memory.bytes_of(PartName::FreePagesAtTop)),
        (page, page)
    );
    assert_eq!(memory.trim_bytes, Some(page));
    let back: Vec<_> =
        memory.pinned.iter().map(|of| (of.node.0, of.alone_bytes, of.with_previous_bytes)).collect();
    // Without stack 1 pages 0 and 1 come back, page 4 is at the end; without both all is the end.
    assert_eq!(back, [(1, 2 * page, 2 * page), (2, page, 0)]);
}
