//! A heap in a file, as it should be and damaged: what is found is true, or not there.

use std::fs::File;
use std::io::Write;

use heapscribe_formats::model::{Access, Mapping};
use proptest::collection::vec;
use proptest::prelude::*;

use super::layout::{BACKWARD, BINS, BINS_COUNT, FAST_BINS, FORWARD, NEXT, NOT_MAIN, PREVIOUS_IN_USE, TOP};
use super::*;

const DATA: u64 = 0x1000;
const ARENA: u64 = DATA + 0x40;
const HEAP: u64 = 0x4000;
const END: u64 = 0x8000;

struct Words(Vec<u64>);

impl Words {
    fn set(&mut self, at: u64, word: u64) {
        self.0[at as usize / 8] = word;
    }

    /// A free chunk in the ring of a bin, between chunks in use.
    fn binned(&mut self, chunks: &[u64], bin: u64, size: u64) {
        let head = ARENA + BINS + bin * 16 - FORWARD;
        let ring: Vec<u64> = [&[head], chunks, &[head]].concat();
        for pair in ring.windows(2) {
            self.set(pair[0] + FORWARD, pair[1]);
            self.set(pair[1] + BACKWARD, pair[0]);
        }
        for at in chunks {
            self.set(at + SIZE, size | PREVIOUS_IN_USE);
            self.set(at + size, size);
            self.set(at + size + SIZE, 0x40);
        }
    }

    fn file(&self) -> File {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        file.write_all(&bytes).unwrap();
        file
    }
}

/// A main arena with two chunks in a bin, two in a fast bin and a top.
fn heap() -> Words {
    let mut words = Words(vec![0; END as usize / 8]);
    for bin in 0..BINS_COUNT {
        words.binned(&[], bin, 0);
    }
    words.binned(&[HEAP + 0x100, HEAP + 0x400], 7, 0x90);
    let fast = [HEAP + 0x1000, HEAP + 0x1080];
    words.set(ARENA + FAST_BINS + 2 * 8, fast[0]);
    for (at, next) in [(fast[0], fast[1]), (fast[1], 0)] {
        words.set(at + SIZE, 0x40 | PREVIOUS_IN_USE);
        words.set(at + FORWARD, next ^ (at + FORWARD) >> 12);
    }
    words.set(ARENA + TOP, HEAP + 0x2000);
    words.set(HEAP + 0x2000 + SIZE, (END - HEAP - 0x2000) | PREVIOUS_IN_USE);
    words.set(ARENA + NEXT, ARENA);
    words
}

fn found(words: &Words) -> FreeMemory {
    read(Remote::new(words.file()))
}

fn read(memory: Remote) -> FreeMemory {
    let access = Access { read: true, write: true, ..Access::default() };
    let mapping =
        |start, end, path: &str| Mapping { start, end, access, path: path.into(), ..Mapping::default() };
    let mappings = vec![mapping(DATA, HEAP, "/lib/libc.so.6"), mapping(HEAP, END, "[heap]")];
    let map = ProcessMap { page_bytes: 4096, mappings, ..ProcessMap::default() };
    ListReader { memory }.read(&map)
}

#[test]
fn chunks_of_an_arena_are_found() {
    let free = found(&heap());
    let ranges: Vec<_> = free.ranges.iter().map(|of| (of.start - HEAP, of.bytes, of.kind)).collect();
    let expected = [
        (0x108, 0x90, FreeKind::Bin),
        (0x408, 0x90, FreeKind::Bin),
        (0x1008, 0x40, FreeKind::FastBin),
        (0x1088, 0x40, FreeKind::FastBin),
        (0x2008, 0x2000, FreeKind::Top),
    ];
    assert_eq!(ranges, expected);
    // There is no thread with a cache.
    assert_eq!(free.lists, ListsRead::InPart);
}

/// Before 2.27 all fields were a word further down: an arena at 8 bytes above has them where they are.
#[test]
fn chunks_of_an_arena_of_before_2_27_are_found() {
    let mut words = heap();
    words.set(ARENA + NEXT, ARENA + 8);
    let expected = found(&heap());
    assert_eq!(found(&words), expected);
    assert_eq!(expected.ranges.len(), 5);
}

/// The arena of a thread after it, in a piece of its own. Each of the two layouts has a main arena there that could be one.
#[test]
fn the_ring_tells_the_layouts_apart() {
    const PIECE: u64 = 64 << 20;
    for (main, shift) in [(ARENA, 0), (ARENA + 8, 8)] {
        let mut words = heap();
        words.0.resize((PIECE + 0x2000) as usize / 8, 0);
        let thread = PIECE + 0x20;
        words.set(ARENA + NEXT, thread);
        words.set(thread + NEXT - shift, main);
        words.set(thread + TOP - shift, PIECE + 0x1000);
        words.set(PIECE, thread);
        words.set(PIECE + 16, 0x2000);
        let mapping = |start, end, path: &str| Mapping {
            start,
            end,
            access: Access { read: true, write: true, ..Access::default() },
            path: path.into(),
            ..Mapping::default()
        };
        let mappings = [mapping(DATA, HEAP, "/lib/libc-2.24.so"), mapping(HEAP, END, "[heap]")];
        let (all, is_whole) = arenas::arenas(&mut Remote::new(words.file()), &mappings).unwrap();
        let found: Vec<_> = all.iter().map(|of| (of.address, of.shift, of.is_main)).collect();
        assert_eq!((found, is_whole), (vec![(main, shift, true), (thread, shift, false)], true));
    }
}

#[test]
fn free_chunks_of_a_threads_arena_have_its_flag_in_fast_bins_only() {
    let mut words = heap();
    for at in [HEAP + 0x1000, HEAP + 0x1080] {
        words.set(at + SIZE, 0x40 | PREVIOUS_IN_USE | NOT_MAIN);
    }
    let arena = Arena { address: ARENA, is_main: false, spans: vec![(HEAP, END)], ..Arena::default() };
    let mut free = Vec::new();
    assert!(arena.free(&mut Remote::new(words.file()), &mut free), "{free:?}");
    assert_eq!(free.len(), 5);
}

/// No bin is empty, as after most of 300,000 strings of perl's were freed.
#[test]
fn an_arena_with_chunks_of_all_sizes_is_one() {
    let mut words = heap();
    for bin in 1..BINS_COUNT {
        words.binned(&[HEAP + 0x2100 + bin * 0x30], bin, 0x20);
    }
    // What is in these bins has not the size of its bin, but the arena is there.
    let kinds: Vec<_> = found(&words).ranges.iter().map(|of| of.kind).collect();
    assert_eq!(kinds, [FreeKind::FastBin, FreeKind::FastBin, FreeKind::Top]);
}

#[test]
fn what_is_no_arena_is_not_read() {
    let mut words = heap();
    (0..BINS_COUNT).for_each(|bin| words.set(ARENA + BINS + bin * 16, 0));
    assert_eq!(found(&words), FreeMemory::default());
}

#[test]
fn a_list_that_is_a_ring_ends_soon() {
    let mut words = heap();
    // Chunks of 0x40 bytes, each linked to the next, the last to the third.
    let chunk = |nth: u64| HEAP + 0x1000 + nth * 0x40;
    for (nth, next) in (0..9).zip([1, 2, 3, 4, 5, 6, 7, 8, 2]) {
        let at = chunk(nth);
        words.set(at + SIZE, 0x40 | PREVIOUS_IN_USE);
        words.set(at + FORWARD, chunk(next) ^ (at + FORWARD) >> 12);
    }
    // An arena so large that its chunks would be counted to 256 million.
    let arena =
        Arena { address: ARENA, is_main: true, spans: vec![(HEAP, HEAP + (16 << 30))], ..Arena::default() };
    let (mut memory, mut free) = (Remote::new(words.file()), Vec::new());
    assert!(!arena.free(&mut memory, &mut free));
    assert!(free.iter().all(|of| of.kind != FreeKind::FastBin), "{free:?}");
    assert!(memory.words_read() < 1_000, "{}", memory.words_read());
}

#[test]
fn of_a_heap_with_more_free_chunks_than_are_read_some_are_found() {
    let words = heap();
    let whole = found(&words).ranges;
    let mut lengths = std::collections::BTreeSet::new();
    for bound in 0..4_000 {
        let cut = read(Remote::bounded(words.file(), bound, u64::MAX));
        assert_ne!(cut.lists, ListsRead::Whole);
        assert!(cut.ranges.iter().all(|of| whole.contains(of)), "{bound}: {cut:?}");
        lengths.insert(cut.ranges.len());
    }
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [0, 1, 3, 4, 5]);
    for pages in 0..9 {
        let cut = read(Remote::bounded(words.file(), u64::MAX, pages));
        assert!(cut.ranges.iter().all(|of| whole.contains(of)), "{pages}: {cut:?}");
    }
}

#[test]
fn ranges_do_not_overlap() {
    let range = |start, end, kind| FreeRange { start, bytes: end - start, kind };
    let all = vec![
        range(40, 60, FreeKind::Bin),
        range(10, 20, FreeKind::Bin),
        range(20, 50, FreeKind::Bin),
        range(55, 70, FreeKind::Top),
        range(62, 66, FreeKind::FastBin),
    ];
    assert_eq!(without_overlap(all), [range(10, 60, FreeKind::Bin), range(60, 70, FreeKind::Top)]);
}

/// Words that a damaged heap has: anything, and what could be an address in it.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), (0..END).prop_map(|at| at / 16 * 16), 0..0x100u64]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn a_damaged_heap_ends_and_nothing_is_outside_of_it(
        damage in vec((DATA / 8..END / 8, word()), 1..40),
        at_links in vec((0..6usize, word()), 0..4),
    ) {
        let mut words = heap();
        damage.iter().for_each(|(at, word)| words.set(at * 8, *word));
        let links = [ARENA + NEXT, ARENA + TOP, HEAP + 0x110, HEAP + 0x118, HEAP + 0x1010, HEAP + 0x1008];
        at_links.iter().for_each(|(at, word)| words.set(links[*at], *word));
        let mut end = 0;
        for of in found(&words).ranges {
            prop_assert!(of.start >= end && of.bytes > 0 && of.start + of.bytes <= END + SIZE, "{of:?}");
            end = of.start + of.bytes;
        }
    }
}
