//! Finds the caches of threads (tcache). A thread's is a chunk of the heap that a variable of the thread points to: below its
//! control block, which points to itself twice and lies at the end of its stack or in a small mapping of the loader's.

use heapscribe_formats::model::{FreeKind, FreeRange, Mapping, PageRun};

use super::chunks::{Arena, links, range};
use super::layout::{
    CACHE_LISTS, CHUNK_ALIGN, FORWARD, SMALL_MAPPING_BYTES, STACK_END_BYTES, VARIABLES_BYTES_MAX,
};
use crate::remote::Remote;

/// The bytes of a cache's chunk, and of one of its counts.
const LAYOUTS: [(u64, u64); 2] = [(0x290, 2), (0x250, 1)];

/// A thread's cache: the address behind its chunk's header, and bytes of a count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cache {
    at: u64,
    count_bytes: u64,
}

/// Appends what threads have in their caches; how many caches there are, and how many of them were whole.
pub(super) fn caches(
    memory: &mut Remote,
    arenas: &[Arena],
    (mappings, runs, page_bytes): (&[Mapping], &[PageRun], u64),
    out: &mut Vec<FreeRange>,
) -> (usize, usize) {
    let mut found: Vec<Cache> = Vec::new();
    for of in mappings.iter().filter(|of| may_have_threads(of)) {
        let is_small = of.end - of.start <= SMALL_MAPPING_BYTES;
        let start = if is_small { of.start } else { of.end - STACK_END_BYTES };
        for (from, to) in resident(runs, page_bytes, (start, of.end)) {
            let blocks = (from.next_multiple_of(64)..to).step_by(64);
            for block in blocks.filter(|at| is_control_block(memory, *at)).collect::<Vec<_>>() {
                let cache = cache_of(memory, arenas, (of.start, block));
                found.extend(cache.filter(|cache| !found.contains(cache)));
            }
        }
    }
    let whole = found.iter().filter(|cache| cache.free(memory, arenas, out).is_some()).count();
    (found.len(), whole)
}

/// Anonymous memory that a program may write to, and no heap: arenas are larger, and have no control blocks.
fn may_have_threads(of: &Mapping) -> bool {
    of.access.write && !of.access.shared && !of.is_recorder && of.path.is_empty()
}

/// What of a range is in memory: the rest is not looked at.
fn resident(runs: &[PageRun], page_bytes: u64, (start, end): (u64, u64)) -> Vec<(u64, u64)> {
    let first = runs.partition_point(|run| run.start + run.pages * page_bytes <= start);
    let runs = runs[first..].iter().take_while(|run| run.start < end).filter(|run| !run.is_swapped);
    runs.map(|run| (run.start.max(start), (run.start + run.pages * page_bytes).min(end))).collect()
}

fn is_control_block(memory: &mut Remote, at: u64) -> bool {
    memory.word(at) == Some(at) && memory.word(at + 16) == Some(at)
}

/// The cache that a variable of a thread points to.
fn cache_of(memory: &mut Remote, arenas: &[Arena], (start, block): (u64, u64)) -> Option<Cache> {
    let from = block.saturating_sub(VARIABLES_BYTES_MAX).max(start);
    (from..block).step_by(8).find_map(|variable| {
        let at = memory.word(variable)?;
        let chunk = at.checked_sub(FORWARD)?;
        let size = arenas.iter().find_map(|arena| arena.chunk(memory, chunk))?;
        let (_, count_bytes) = *LAYOUTS.iter().find(|layout| layout.0 == size)?;
        let cache = Cache { at, count_bytes };
        (0..CACHE_LISTS).all(|list| cache.is_plausible(memory, list)).then_some(cache)
    })
}

impl Cache {
    fn count(self, memory: &mut Remote, list: u64) -> Option<u64> {
        let offset = list * self.count_bytes;
        let word = memory.word(self.at + offset / 8 * 8)?;
        Some(word >> (offset % 8 * 8) & ((1 << (self.count_bytes * 8)) - 1))
    }

    fn head(self, memory: &mut Remote, list: u64) -> Option<u64> {
        memory.word(self.at + CACHE_LISTS * self.count_bytes + list * 8)
    }

    /// A list has a first block if its count is not 0.
    fn is_plausible(self, memory: &mut Remote, list: u64) -> bool {
        match (self.count(memory, list), self.head(memory, list)) {
            (Some(count), Some(head)) => (count == 0) == (head == 0) && head.is_multiple_of(CHUNK_ALIGN),
            _ => false,
        }
    }

    /// Its blocks, and itself; `None` when a list is not as long as it should be.
    fn free(self, memory: &mut Remote, arenas: &[Arena], out: &mut Vec<FreeRange>) -> Option<()> {
        let own = LAYOUTS.iter().find(|layout| layout.1 == self.count_bytes)?.0;
        out.push(range(self.at - FORWARD, own, FreeKind::Own));
        (0..CACHE_LISTS).try_for_each(|list| {
            let (count, head) = (self.count(memory, list)?, self.head(memory, list)?);
            let size = (list + 2) * CHUNK_ALIGN;
            let found = links(memory, (head, 0), count, |memory, block| {
                let chunk = block.checked_sub(FORWARD)?;
                let found = arenas.iter().find_map(|arena| arena.chunk(memory, chunk))?;
                (found == size).then_some(chunk)
            })?;
            out.extend(found.iter().map(|at| range(*at, size, FreeKind::ThreadCache)));
            (found.len() as u64 == count).then_some(())
        })
    }
}
