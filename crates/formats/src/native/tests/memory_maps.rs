//! Memory maps are read as they were written, however many pieces they take.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const PAGE: u64 = 4096;

fn mapping() -> impl Strategy<Value = Mapping> {
    let path = prop_oneof![Just(b"[heap]".to_vec()), vec(any::<u8>(), 0..20)];
    let sizes = any::<[u32; 4]>();
    (any::<[u32; 2]>(), any::<[bool; 6]>(), path, sizes).prop_map(|(at, flags, path, sizes)| {
        let start = u64::from(at[0]) * PAGE;
        let kib = sizes.map(|size| u64::from(size) << 10);
        Mapping {
            start,
            end: start + u64::from(at[1]) * PAGE,
            access: Access { read: flags[0], write: flags[1], execute: flags[2], shared: flags[3] },
            is_recorder: flags[4],
            is_heap: flags[5],
            path,
            resident_bytes: kib[0],
            anonymous_bytes: kib[1],
            swapped_bytes: kib[2],
            huge_bytes: kib[3],
        }
    })
}

fn run() -> impl Strategy<Value = PageRun> {
    (any::<u32>(), any::<u32>(), any::<bool>()).prop_map(|(start, pages, is_swapped)| PageRun {
        start: u64::from(start) * PAGE,
        pages: u64::from(pages),
        is_swapped,
    })
}

fn free() -> impl Strategy<Value = FreeRange> {
    (any::<u32>(), any::<u32>(), 0..FreeKind::ALL.len()).prop_map(|(start, bytes, kind)| FreeRange {
        start: start.into(),
        bytes: bytes.into(),
        kind: FreeKind::ALL[kind],
    })
}

/// What is read of a map after it was written.
fn written(map: &MemoryMap, mappings: &[Mapping], runs: &[PageRun], free: &[FreeRange]) -> Contents {
    let (mut w, mut out) = (Writer::new(), Vec::new());
    w.start(&SessionInfo::default(), &mut out);
    let process = w.process(&ProcessInfo::default(), &mut out);
    // Another one in between, whose pieces are not to be taken for those of this one.
    let other = MemoryMap { table: map.table ^ 1, page_bytes: PAGE, ..MemoryMap::default() };
    w.memory_map(process, map, (mappings, runs, free), &mut out);
    w.memory_map(process, &other, (&[], &[], &[]), &mut out);
    w.finish(&mut out);
    contents_of(&out).unwrap()
}

proptest! {
    #[test]
    fn mappings_and_pages(
        numbers in any::<[u32; 5]>(),
        mappings in vec(mapping(), 0..40),
        runs in vec(run(), 0..60),
        free in vec(free(), 0..60),
        heap in 0..HeapLayout::ALL.len(),
        lists in prop_oneof![Just(ListsRead::No), Just(ListsRead::InPart), Just(ListsRead::Whole)],
    ) {
        let [table, begin, end, allocated, freed] = numbers;
        let map = MemoryMap {
            table,
            begin_mono_ns: begin.into(),
            end_mono_ns: end.into(),
            page_bytes: PAGE,
            allocated_bytes: allocated.into(),
            freed_bytes: freed.into(),
            heap: HeapLayout::ALL[heap],
            mappings: mappings.len() as u64,
            runs: runs.len() as u64,
            lists,
            free: free.len() as u64,
        };
        let contents = written(&map, &mappings, &runs, &free);
        prop_assert!(contents.is_clean(), "{:?}", contents.problems);
        prop_assert_eq!(&contents.processes[0].memory_maps[0], &map);
        prop_assert_eq!((contents.mappings, contents.runs, contents.free), (mappings, runs, free));
    }
}

#[test]
fn a_map_of_a_large_process_takes_several_blocks() {
    let run = |n: u64| PageRun { start: n * 2 * PAGE, pages: 1, is_swapped: n.is_multiple_of(3) };
    let runs: Vec<_> = (0..100_000).map(run).collect();
    let mapping = |n: u64| Mapping { start: n << 20, end: (n + 1) << 20, ..Mapping::default() };
    let mappings: Vec<_> = (0..2_000).map(mapping).collect();
    let range = |n: u64| FreeRange { start: n * 96, bytes: 64, kind: FreeKind::ALL[n as usize % 6] };
    let free: Vec<_> = (0..150_000).map(range).collect();
    let counts = MemoryMap { page_bytes: PAGE, mappings: 2_000, runs: 100_000, ..MemoryMap::default() };
    let map = MemoryMap { free: 150_000, ..counts };
    let contents = written(&map, &mappings, &runs, &free);
    assert!(contents.is_clean(), "{:?}", contents.problems);
    assert_eq!((contents.mappings, contents.runs, contents.free), (mappings, runs, free));
}

#[test]
fn a_long_path_is_cut() {
    let long = Mapping { path: vec![b'a'; 5_000], ..Mapping::default() };
    let map = MemoryMap { page_bytes: PAGE, mappings: 1, ..MemoryMap::default() };
    assert_eq!(written(&map, &[long], &[], &[]).mappings[0].path, vec![b'a'; 512]);
}
