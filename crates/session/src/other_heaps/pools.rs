//! The pools of our pool heap, read from outside (`alloc/src/tlsf/pool.rs` and `block.rs` say how they lie in memory), and
//! the free blocks in them. What a thread caches is no free block of a pool, and neither is a deferred free.
//!
//! *Guarantees:* blocks lead from the begin of a pool to its end, or the pool counts as not read. A program that allocates
//! meanwhile changes headers while they are read: then it is tried again, a few times.

use heapscribe_formats::model::{FreeKind, FreeRange, Mapping};

use crate::memory_map::ProcessMap;
use crate::remote::Remote;

/// Bytes before the header of a pool's first block: the next pool, the end, and a word that is not used.
const FRONT_BYTES: u64 = 24;
/// Bytes of the header at the end.
const END_BYTES: u64 = 8;
const GRANULE: u64 = 16;
const TOTAL_MIN: u64 = 32;
const FREE: u64 = 1;
/// Pools are mapped in whole pages.
const PAGE_BYTES: u64 = 4096;
/// Pools that are looked for, and blocks that are walked over in all of them.
const POOLS_MAX: usize = 1 << 12;
const BLOCKS_MAX: u64 = 1 << 26;
/// How often a pool is read that changes meanwhile.
const ATTEMPTS: usize = 3;

/// A pool.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Pool {
    /// Its first address.
    pub(super) start: u64,
    /// Where it ends.
    pub(super) end: u64,
}

/// All pools, by address: those at the begins of mappings and behind each other, as neighbours are one mapping, and those that
/// pools name.
pub(super) fn find(memory: &mut Remote, map: &ProcessMap) -> Vec<Pool> {
    let mut found: Vec<Pool> = Vec::new();
    let mut named = Vec::new();
    for mapping in map.mappings.iter().filter(|of| is_possible(of)) {
        let mut at = mapping.start;
        while let Some((pool, next)) = is_in_memory(map, at).then(|| pool_at(memory, at, mapping)).flatten() {
            found.push(pool);
            named.push(next);
            at = pool.end.next_multiple_of(PAGE_BYTES);
        }
    }
    while let Some(at) = named.pop() {
        let is_known = found.iter().any(|pool| pool.start == at);
        let mapping = map.mappings.iter().find(|of| is_possible(of) && of.start <= at && at < of.end);
        let (Some(mapping), false, true) = (mapping, is_known, found.len() < POOLS_MAX) else { continue };
        if let Some((pool, next)) = pool_at(memory, at, mapping) {
            found.push(pool);
            named.push(next);
        }
    }
    found.sort_unstable();
    found.dedup_by(|next, before| next.start < before.end);
    found
}

fn is_possible(of: &Mapping) -> bool {
    let is_named = !of.path.is_empty() && !of.path.starts_with(b"[anon:");
    of.access.read && of.access.write && !of.access.shared && !of.is_recorder && !is_named
}

/// What is not in memory is not touched: it would be looked up, and a page of zeros mapped for it.
fn is_in_memory(map: &ProcessMap, at: u64) -> bool {
    let run = map.runs.partition_point(|run| run.start + run.pages * map.page_bytes <= at);
    map.runs.get(run).is_some_and(|run| run.start <= at && !run.is_swapped)
}

/// The pool that begins here, if one does, and the one that it names.
fn pool_at(memory: &mut Remote, start: u64, of: &Mapping) -> Option<(Pool, u64)> {
    let (next, end) = (memory.word(start)?, memory.word(start + 8)?);
    let is_pool = start < end && end <= of.end && (end - start).is_multiple_of(GRANULE);
    if !is_pool || end - start < FRONT_BYTES + TOTAL_MIN + END_BYTES || !next.is_multiple_of(GRANULE) {
        return None;
    }
    let total = total(memory.word(start + FRONT_BYTES)?);
    let is_block = total >= TOTAL_MIN && total <= end - start - FRONT_BYTES - END_BYTES;
    let ends = total_is_end(memory.word(end - END_BYTES)?);
    (is_block && ends).then_some((Pool { start, end }, next))
}

fn total(header: u64) -> u64 {
    header & !(GRANULE - 1)
}

fn total_is_end(header: u64) -> bool {
    total(header) == 0 && header & FREE == 0
}

/// What is no block of the program, by address, and whether all of it could be read: of each pool its begin, its free blocks
/// from header to header, and its end.
pub(super) fn free(memory: &mut Remote, pools: &[Pool]) -> (Vec<FreeRange>, bool) {
    let (mut ranges, mut is_whole, mut left) = (Vec::new(), true, BLOCKS_MAX);
    for pool in pools {
        let before = ranges.len();
        let is_read = (0..ATTEMPTS).any(|_| {
            ranges.truncate(before);
            memory.forget();
            walk(memory, *pool, &mut left, &mut ranges).is_some()
        });
        if !is_read {
            ranges.truncate(before);
            is_whole = false;
        }
    }
    (ranges, is_whole)
}

/// `None` where headers do not lead from the begin to the end.
fn walk(memory: &mut Remote, pool: Pool, left: &mut u64, out: &mut Vec<FreeRange>) -> Option<()> {
    let Pool { start, end } = pool;
    out.push(FreeRange { start, bytes: FRONT_BYTES, kind: FreeKind::Own });
    let (mut at, end) = (start + FRONT_BYTES, end - END_BYTES);
    while at < end {
        *left = left.checked_sub(1)?;
        let header = memory.word(at)?;
        let bytes = total(header);
        if bytes < TOTAL_MIN || bytes > end - at {
            return None;
        }
        if header & FREE != 0 {
            out.push(FreeRange { start: at, bytes, kind: FreeKind::Pool });
        }
        at += bytes;
    }
    out.push(FreeRange { start: end, bytes: END_BYTES, kind: FreeKind::Own });
    Some(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use heapscribe_formats::model::{Access, PageRun};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const BASE: u64 = 0x1000;
    const PAGES: u64 = 3;

    /// Pools behind each other from `BASE` on, each of a page, with blocks of these sizes, the odd ones free.
    fn words(pools: &[&[u64]]) -> Vec<u64> {
        let mut words = vec![0; (BASE + PAGES * PAGE_BYTES) as usize / 8];
        for (n, blocks) in (0..).zip(pools) {
            let start = BASE + n * PAGE_BYTES;
            let mut set = |at: u64, word: u64| words[at as usize / 8] = word;
            set(start, if n == 0 { 0 } else { start - PAGE_BYTES });
            set(start + 8, start + PAGE_BYTES);
            let mut at = start + FRONT_BYTES;
            for (block, bytes) in blocks.iter().enumerate() {
                set(at, bytes | if block % 2 == 1 { FREE } else { 0 });
                at += bytes;
            }
        }
        words
    }

    fn look(words: &[u64]) -> (Vec<Pool>, Vec<FreeRange>, bool) {
        let mut file: File = tempfile::tempfile().unwrap();
        words.iter().for_each(|word| file.write_all(&word.to_le_bytes()).unwrap());
        let access = Access { read: true, write: true, ..Access::default() };
        let mapping = Mapping { start: BASE, end: BASE + PAGES * PAGE_BYTES, access, ..Mapping::default() };
        let runs = vec![PageRun { start: BASE, pages: PAGES, is_swapped: false }];
        let map =
            ProcessMap { page_bytes: PAGE_BYTES, mappings: vec![mapping], runs, ..ProcessMap::default() };
        let mut memory = Remote::new(file);
        let pools = find(&mut memory, &map);
        let (ranges, is_whole) = free(&mut memory, &pools);
        (pools, ranges, is_whole)
    }

    #[test]
    fn free_blocks_of_neighbouring_pools_are_found() {
        let (pools, ranges, is_whole) = look(&words(&[&[64, 96, 3_904], &[4_064]]));
        assert_eq!(pools.iter().map(|of| of.start).collect::<Vec<_>>(), [0x1000, 0x2000]);
        let ranges: Vec<_> = ranges.iter().map(|of| (of.start, of.bytes, of.kind)).collect();
        let (own, pool) = (FreeKind::Own, FreeKind::Pool);
        let first = [(0x1000, 24, own), (0x1058, 96, pool), (0x1ff8, 8, own)];
        assert_eq!(ranges, [&first[..], &[(0x2000, 24, own), (0x2ff8, 8, own)]].concat());
        assert!(is_whole);
    }

    #[test]
    fn a_pool_whose_blocks_do_not_lead_to_its_end_is_not_read() {
        let mut cut = words(&[&[64, 96, 3_904]]);
        cut[(BASE + FRONT_BYTES + 64 + 96) as usize / 8] = 3_888;
        assert_eq!(look(&cut), (vec![Pool { start: 0x1000, end: 0x2000 }], vec![], false));
        assert_eq!(look(&words(&[])), (vec![], vec![], true));
    }

    proptest! {
        #[test]
        fn whatever_is_in_memory_ranges_are_in_order(damage in vec((0..PAGES * 512, any::<u64>(), 0..3u8), 0..12)) {
            let mut words = words(&[&[64, 96, 3_904], &[4_064], &[32, 32, 32, 32, 3_936]]);
            for (at, word, how) in damage {
                let of = &mut words[BASE as usize / 8 + at as usize];
                *of = match how { 0 => word, 1 => BASE + word % 0x3000, _ => word % 4_096 };
            }
            let (pools, ranges, _) = look(&words);
            let mut end = 0;
            for of in &ranges {
                prop_assert!(end <= of.start && of.bytes > 0);
                end = of.start + of.bytes;
                prop_assert!(pools.iter().any(|pool| pool.start <= of.start && end <= pool.end));
            }
        }
    }
}
