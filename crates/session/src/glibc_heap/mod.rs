//! What glibc's heap has of free memory, read from outside by `/proc/PID/mem` while the process runs: arenas, their tops and
//! bins, and the caches of threads.
//!
//! ```text
//!   layout   where glibc has what
//!   chunks   free chunks of one arena, each checked
//!   arenas   where the arenas are
//!   caches   where threads' caches are, and what is in them
//! ```
//! *Guarantees:* nothing in the process changes, and no page of its heap that is not in memory is asked for on purpose. What is
//! found lies in an arena, and no two ranges overlap. *Refuses* to guess: a list that does not hold together ends where it
//! breaks, and the answer says that it is not whole, as it does of a heap with more free chunks than are read. A program that allocates meanwhile changes its lists while they are read.

mod arenas;
mod caches;
mod chunks;
mod layout;

use std::io;

use heapscribe_formats::model::{FreeKind, FreeRange, ListsRead};

use self::chunks::Arena;
use self::layout::{ARENA_BYTES, ATTEMPTS, CHUNK_ALIGN, HEAP_ALIGN, SIZE};
use crate::memory_map::ProcessMap;
use crate::remote::Remote;

/// The memory of a process, to look for its heap's lists.
#[derive(Debug)]
pub struct ListReader {
    memory: Remote,
}

/// What a heap has of free memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FreeMemory {
    /// Whether all of it is known.
    pub lists: ListsRead,
    /// By address, none overlapping another.
    pub ranges: Vec<FreeRange>,
}

impl ListReader {
    /// Opens the memory of a process.
    ///
    /// # Errors
    /// When the kernel refuses, as with `kernel.yama.ptrace_scope` of 1 for a process that is no child.
    pub fn open(pid: u32) -> io::Result<ListReader> {
        Ok(ListReader { memory: Remote::open(pid)? })
    }

    /// The memory alone, of a process with another heap.
    pub(crate) fn into_memory(self) -> Remote {
        self.memory
    }

    /// Reads all lists that are found, no further than is bearable.
    pub fn read(mut self, map: &ProcessMap) -> FreeMemory {
        let memory = &mut self.memory;
        let Some((arenas, mut is_whole)) = arenas::arenas(memory, &map.mappings) else {
            return FreeMemory::default();
        };
        let mut ranges = Vec::new();
        for arena in &arenas {
            is_whole &= settled(memory, &mut ranges, |memory, out| arena.free(memory, out));
            ranges.extend(own(arena));
        }
        is_whole &= settled(memory, &mut ranges, |memory, out| {
            let places = (&map.mappings[..], &map.runs[..], map.page_bytes);
            let (caches, whole) = caches::caches(memory, &arenas, places, out);
            caches > 0 && caches == whole
        });
        FreeMemory {
            lists: if is_whole { ListsRead::Whole } else { ListsRead::InPart },
            ranges: without_overlap(ranges),
        }
    }
}

/// Reads until it holds together, a few times; what was found last is kept.
fn settled(
    memory: &mut Remote,
    out: &mut Vec<FreeRange>,
    mut read: impl FnMut(&mut Remote, &mut Vec<FreeRange>) -> bool,
) -> bool {
    let before = out.len();
    for _ in 0..ATTEMPTS {
        out.truncate(before);
        if read(memory, out) {
            return true;
        }
        if memory.is_spent() {
            return false;
        }
        memory.forget();
    }
    false
}

/// What an arena of threads takes at the begin of its first piece.
fn own(arena: &Arena) -> Option<FreeRange> {
    let start = arena.address / HEAP_ALIGN * HEAP_ALIGN;
    let end = (arena.address + ARENA_BYTES).next_multiple_of(CHUNK_ALIGN) + SIZE;
    (!arena.is_main).then_some(FreeRange { start, bytes: end - start, kind: FreeKind::Own })
}

/// By address; neighbours of one kind are one range, and of two that overlap the first has the bytes.
fn without_overlap(mut ranges: Vec<FreeRange>) -> Vec<FreeRange> {
    ranges.sort_unstable_by_key(|of| (of.start, of.kind));
    let mut all: Vec<FreeRange> = Vec::new();
    for FreeRange { start, bytes, kind } in ranges {
        let (mut start, end) = (start, start + bytes);
        if let Some(last) = all.last_mut() {
            start = start.max(last.start + last.bytes);
            if start < end && last.kind == kind && last.start + last.bytes == start {
                last.bytes += end - start;
                continue;
            }
        }
        if start < end {
            all.push(FreeRange { start, bytes: end - start, kind });
        }
    }
    all
}

#[cfg(test)]
mod tests;
