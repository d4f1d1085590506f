//! Memory maps, both ways: the head of a map, and its mappings and pages in pieces. Bytes after the known fields of a head
//! were added by a later minor version.
//!
//! ```text
//!   memory map  number of the table  mono of the begin and of the end of reading  bytes of a page
//!               bytes allocated and freed meanwhile  heap (see `HeapLayout`)  mappings  runs of pages
//!               lists of free memory (0 not read, 1 in part, 2 whole)  free ranges
//!   pages       number of the table u32
//!               count of mappings, each: start*  length  flags  path (text)  resident  anonymous  swapped  huge (KiB each)
//!               count of runs, each: start*  pages << 1 | swapped, both in pages
//!               count of free ranges, each: start*  bytes << 3 | kind
//! ```
//! `*` zigzag against the end of the one before it in the same block, the first against 0. Flags: 1 read, 2 write,
//! 4 execute, 8 shared, 16 of the recorder, 32 the path is that of the mapping before and not repeated, 64 of the heap. What belongs
//! to no mapping's file, and is in memory or swapped out, is in the runs.

use super::fields::{Fields, put, put_from, put_text};
use crate::model::{Access, FreeKind, FreeRange, HeapLayout, ListsRead, Mapping, MemoryMap, PageRun};

/// Mappings, runs and free ranges in one block, at most: with all fields at their longest they fit.
pub(super) const MAPPINGS_MAX: usize = 512;
pub(super) const RUNS_MAX: usize = 1 << 15;
pub(super) const FREE_MAX: usize = 1 << 12;
/// Bytes of a path that are stored.
const PATH_BYTES_MAX: usize = 512;
const _: () = assert!(
    MAPPINGS_MAX * (PATH_BYTES_MAX + 8 * heapscribe_wire::varint::MAX_BYTES)
        + (2 * RUNS_MAX + 2 * FREE_MAX + 4) * heapscribe_wire::varint::MAX_BYTES
        < super::block::BLOCK_BYTES_MAX
);

const RECORDER: u64 = 16;
const SAME_PATH: u64 = 32;
const HEAP: u64 = 64;
/// The kind of a free range is in the low bits of its length.
const KIND_BITS: u32 = 3;
const PAGE_BYTES_MAX: u64 = 1 << 30;

pub(super) fn put_head(out: &mut Vec<u8>, map: &MemoryMap) {
    put(out, u64::from(map.table));
    let numbers = [map.begin_mono_ns, map.end_mono_ns, map.page_bytes, map.allocated_bytes, map.freed_bytes];
    numbers.into_iter().for_each(|n| put(out, n));
    put(out, map.heap as u64);
    put(out, map.mappings);
    put(out, map.runs);
    put(out, map.lists as u64);
    put(out, map.free);
}

pub(super) fn get_head(payload: &[u8]) -> Option<MemoryMap> {
    let mut f = Fields::new(payload);
    let is_size = |bytes: &u64| bytes.is_power_of_two() && (512..=PAGE_BYTES_MAX).contains(bytes);
    Some(MemoryMap {
        table: f.small()?,
        begin_mono_ns: f.number()?,
        end_mono_ns: f.number()?,
        page_bytes: f.number().filter(is_size)?,
        allocated_bytes: f.number()?,
        freed_bytes: f.number()?,
        // A layout of a later version is not known here.
        heap: usize::try_from(f.number()?)
            .ok()
            .and_then(|n| HeapLayout::ALL.get(n).copied())
            .unwrap_or_default(),
        mappings: f.number()?,
        runs: f.number()?,
        lists: match if f.is_empty() { 0 } else { f.number()? } {
            0 => ListsRead::No,
            2 => ListsRead::Whole,
            _ => ListsRead::InPart,
        },
        free: if f.is_empty() { 0 } else { f.number()? },
    })
}

/// The payload of some of a map's mappings, runs and free ranges.
pub(super) fn put_piece(
    out: &mut Vec<u8>,
    map: &MemoryMap,
    (mappings, runs, free): (&[Mapping], &[PageRun], &[FreeRange]),
) {
    out.extend_from_slice(&map.table.to_le_bytes());
    put(out, mappings.len() as u64);
    let (mut end, mut path) = (0, &[][..]);
    for mapping in mappings {
        put_mapping(out, mapping, end, path);
        (end, path) = (mapping.end, stored(&mapping.path));
    }
    put(out, runs.len() as u64);
    let (page, mut end) = (map.page_bytes, 0);
    for run in runs {
        let start = run.start / page;
        put_from(out, start, end);
        put(out, run.pages << 1 | u64::from(run.is_swapped));
        end = start.wrapping_add(run.pages);
    }
    put(out, free.len() as u64);
    let mut end = 0;
    for range in free {
        put_from(out, range.start, end);
        put(out, range.bytes << KIND_BITS | range.kind as u64);
        end = range.start.wrapping_add(range.bytes);
    }
}

fn stored(path: &[u8]) -> &[u8] {
    path.get(..PATH_BYTES_MAX).unwrap_or(path)
}

fn put_mapping(out: &mut Vec<u8>, mapping: &Mapping, before: u64, path_before: &[u8]) {
    let Access { read, write, execute, shared } = mapping.access;
    let path = stored(&mapping.path);
    let is_same = path == path_before;
    put_from(out, mapping.start, before);
    put(out, mapping.end.wrapping_sub(mapping.start));
    let flags = [read, write, execute, shared, mapping.is_recorder, is_same, mapping.is_heap];
    put(out, flags.iter().rev().fold(0, |bits, flag| bits << 1 | u64::from(*flag)));
    if !is_same {
        put_text(out, path);
    }
    let sizes = [mapping.resident_bytes, mapping.anonymous_bytes, mapping.swapped_bytes, mapping.huge_bytes];
    sizes.into_iter().for_each(|bytes| put(out, bytes >> 10));
}

/// The number of the table that a piece belongs to.
pub(super) fn table_of(payload: &[u8]) -> Option<u32> {
    Fields::new(payload).fixed_u32()
}

/// Calls the visitors; how many mappings, runs and free ranges there were, if the piece is whole.
pub(super) fn get_piece(
    payload: &[u8],
    page_bytes: u64,
    (mut mapping, mut run, free): (impl FnMut(Mapping), impl FnMut(PageRun), impl FnMut(FreeRange)),
) -> Option<[u64; 3]> {
    let mut f = Fields::new(payload);
    f.fixed_u32()?;
    let mappings = f.number().filter(|n| *n <= MAPPINGS_MAX as u64)?;
    let mut last = Mapping::default();
    for _ in 0..mappings {
        last = get_mapping(&mut f, &last)?;
        mapping(last.clone());
    }
    let runs = f.number().filter(|n| *n <= RUNS_MAX as u64)?;
    let mut end = 0;
    for _ in 0..runs {
        let (start, word) = (f.number_from(end)?, f.number()?);
        let pages = word >> 1;
        end = start.checked_add(pages).filter(|end| end.checked_mul(page_bytes).is_some())?;
        run(PageRun { start: start * page_bytes, pages, is_swapped: word & 1 != 0 });
    }
    let ranges = if f.is_empty() { 0 } else { get_free(&mut f, free)? };
    f.is_empty().then_some([mappings, runs, ranges])
}

fn get_free(f: &mut Fields<'_>, mut free: impl FnMut(FreeRange)) -> Option<u64> {
    let ranges = f.number().filter(|n| *n <= FREE_MAX as u64)?;
    let mut end = 0u64;
    for _ in 0..ranges {
        let (start, word) = (f.number_from(end)?, f.number()?);
        let (bytes, kind) = (word >> KIND_BITS, word & ((1 << KIND_BITS) - 1));
        end = start.checked_add(bytes)?;
        free(FreeRange { start, bytes, kind: *FreeKind::ALL.get(kind as usize)? });
    }
    Some(ranges)
}

fn get_mapping(f: &mut Fields<'_>, last: &Mapping) -> Option<Mapping> {
    let start = f.number_from(last.end)?;
    let end = start.checked_add(f.number()?)?;
    let flags = f.number()?;
    let bit = |n: u32| flags >> n & 1 != 0;
    let path = if flags & SAME_PATH != 0 { last.path.clone() } else { stored(f.text()?).to_vec() };
    let mut size = || f.number()?.checked_mul(1 << 10);
    Some(Mapping {
        start,
        end,
        access: Access { read: bit(0), write: bit(1), execute: bit(2), shared: bit(3) },
        is_recorder: flags & RECORDER != 0,
        is_heap: flags & HEAP != 0,
        path,
        resident_bytes: size()?,
        anonymous_bytes: size()?,
        swapped_bytes: size()?,
        huge_bytes: size()?,
    })
}
