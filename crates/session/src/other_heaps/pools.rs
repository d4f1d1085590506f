//! The pools of our pool heap, read from outside (`alloc/src/tlsf/pool.rs` and `block.rs` say how they lie in memory), and
//! the free blocks in them. What a thread caches is no free block of a pool, and neither is a deferred free.
//!
//! Pools are found as the heap finds them: its statistics say where the address of the newest stands, and each has that of
//! the one before. Mappings say nothing of where a pool begins: the kernel merges it with memory that the program maps
//! beside it.
//!
//! *Guarantees:* blocks lead from the begin of a pool to its end, or the pool counts as not read. A program that allocates
//! meanwhile changes headers while they are read: then it is tried again, a few times.

use heapscribe_formats::model::{FreeKind, FreeRange, Mapping, POOL_END_BYTES, POOL_FRONT_BYTES};

use crate::memory_map::ProcessMap;
use crate::remote::Remote;

const GRANULE: u64 = 16;
const TOTAL_MIN: u64 = 32;
const FREE: u64 = 1;
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

/// All pools, by address, and whether the first was reached: from the newest on, whose address stands at `newest`. One
/// that was added after the mappings were read is left out.
pub(super) fn find(memory: &mut Remote, map: &ProcessMap, newest: u64) -> (Vec<Pool>, bool) {
    let mut found: Vec<Pool> = Vec::new();
    let mut next = (newest != 0).then(|| memory.word(newest)).flatten();
    for _ in 0..POOLS_MAX {
        let Some(at) = next.filter(|at| *at != 0) else { break };
        let Some((pool, before)) = pool_at(memory, at) else { break };
        if is_mapped(map, pool) {
            found.push(pool);
        }
        next = Some(before);
    }
    found.sort_unstable();
    found.dedup_by(|next, before| next.start < before.end);
    (found, next == Some(0))
}

/// Whether all of a pool is memory that may be one.
fn is_mapped(map: &ProcessMap, pool: Pool) -> bool {
    let first = map.mappings.partition_point(|of| of.end <= pool.start);
    let mut at = pool.start;
    for of in map.mappings.iter().skip(first).take_while(|of| of.start <= pool.end) {
        if of.start > at || !is_possible(of) {
            break;
        }
        at = of.end;
    }
    at >= pool.end
}

fn is_possible(of: &Mapping) -> bool {
    let is_named = !of.path.is_empty() && !of.path.starts_with(b"[anon:");
    of.access.read && of.access.write && !of.access.shared && !of.is_recorder && !is_named
}

/// The pool that begins here, if one does, and the one that was added before it.
fn pool_at(memory: &mut Remote, start: u64) -> Option<(Pool, u64)> {
    let (next, end) = (memory.word(start)?, memory.word(start.checked_add(8)?)?);
    let bytes = end.checked_sub(start).filter(|bytes| bytes.is_multiple_of(GRANULE))?;
    let blocks_bytes = bytes.checked_sub(POOL_FRONT_BYTES + POOL_END_BYTES)?;
    if !next.is_multiple_of(GRANULE) {
        return None;
    }
    let is_block = (TOTAL_MIN..=blocks_bytes).contains(&total(memory.word(start + POOL_FRONT_BYTES)?));
    let ends = total_is_end(memory.word(end - POOL_END_BYTES)?);
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
    out.push(FreeRange { start, bytes: POOL_FRONT_BYTES, kind: FreeKind::Own });
    let (mut at, end) = (start + POOL_FRONT_BYTES, end - POOL_END_BYTES);
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
    out.push(FreeRange { start: end, bytes: POOL_END_BYTES, kind: FreeKind::Own });
    Some(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use heapscribe_formats::model::Access;
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const PAGE_BYTES: u64 = 4096;
    const BASE: u64 = 0x1000;
    const PAGES: u64 = 3;
    /// Where the address of the newest pool stands.
    const NEWEST: u64 = 0x800;

    /// Pools behind each other from `BASE` on, each of a page, with blocks of these sizes, the odd ones free.
    fn words(pools: &[&[u64]]) -> Vec<u64> {
        let mut words = vec![0; (BASE + PAGES * PAGE_BYTES) as usize / 8];
        for (n, blocks) in (0..).zip(pools) {
            let start = BASE + n * PAGE_BYTES;
            let mut set = |at: u64, word: u64| words[at as usize / 8] = word;
            set(start, if n == 0 { 0 } else { start - PAGE_BYTES });
            set(NEWEST, start);
            set(start + 8, start + PAGE_BYTES);
            let mut at = start + POOL_FRONT_BYTES;
            for (block, bytes) in blocks.iter().enumerate() {
                set(at, bytes | if block % 2 == 1 { FREE } else { 0 });
                at += bytes;
            }
        }
        words
    }

    /// Of a process in which all of it is one mapping.
    fn look(words: &[u64]) -> (Vec<Pool>, Vec<FreeRange>, bool) {
        let mut file: File = tempfile::tempfile().unwrap();
        words.iter().for_each(|word| file.write_all(&word.to_le_bytes()).unwrap());
        let access = Access { read: true, write: true, ..Access::default() };
        let mapping = Mapping { start: BASE, end: BASE + PAGES * PAGE_BYTES, access, ..Mapping::default() };
        let map = ProcessMap { mappings: vec![mapping], ..ProcessMap::default() };
        let mut memory = Remote::new(file);
        let (pools, are_all) = find(&mut memory, &map, NEWEST);
        let (ranges, is_whole) = free(&mut memory, &pools);
        (pools, ranges, are_all && is_whole)
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

    /// A mapping of the program's own below a pool is one mapping with it.
    #[test]
    fn a_pool_is_found_behind_other_memory() {
        let mut words = words(&[&[], &[64, 4_000], &[4_064]]);
        words[BASE as usize / 8..][..512].fill(0x0101_0101_0101_0101);
        words[(BASE + PAGE_BYTES) as usize / 8] = 0;
        let (pools, ranges, is_whole) = look(&words);
        assert_eq!(pools.iter().map(|of| of.start).collect::<Vec<_>>(), [0x2000, 0x3000]);
        assert_eq!((ranges.len(), is_whole), (5, true));
        // The older one names no pool: what there is before it is not known.
        words[(BASE + PAGE_BYTES) as usize / 8] = BASE;
        assert_eq!((look(&words).0.len(), look(&words).2), (2, false));
    }

    #[test]
    fn a_pool_that_is_in_no_mapping_is_left_out() {
        let mut words = words(&[&[4_064], &[4_064]]);
        words.resize(words.len() + 512, 0);
        let start = (BASE + PAGES * PAGE_BYTES) as usize / 8;
        words.copy_within((BASE + PAGE_BYTES) as usize / 8..(BASE + 2 * PAGE_BYTES) as usize / 8, start);
        (words[start], words[start + 1]) = (BASE + PAGE_BYTES, (start as u64 + 512) * 8);
        words[NEWEST as usize / 8] = start as u64 * 8;
        let (pools, _, is_whole) = look(&words);
        assert_eq!(pools.iter().map(|of| of.start).collect::<Vec<_>>(), [0x1000, 0x2000]);
        assert!(is_whole);
    }

    #[test]
    fn a_pool_whose_blocks_do_not_lead_to_its_end_is_not_read() {
        let mut cut = words(&[&[64, 96, 3_904]]);
        cut[(BASE + POOL_FRONT_BYTES + 64 + 96) as usize / 8] = 3_888;
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
