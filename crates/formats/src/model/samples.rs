//! Samples: the memory of a process as the kernel counts it, and the statistics of the heap under it.

use heapscribe_wire::heap::HeapCounts;
use heapscribe_wire::ids::{NameId, ThreadId};

/// How much memory a process had at a moment, as the kernel counts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemorySample {
    /// When, CLOCK_MONOTONIC ns.
    pub mono_ns: u64,
    /// Resident, without the files of the recorder, bytes.
    pub rss_bytes: u64,
    /// The part of it that belongs to files and shared mappings, bytes.
    pub shared_bytes: u64,
    /// Address space in use, bytes.
    pub virtual_bytes: u64,
}

/// Parts of the resident memory.
pub const RESIDENT_PARTS: usize = 14;

/// A section of the program that has ended, and what it had left when its process was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SectionLeft {
    /// Its name.
    pub name: NameId,
    /// The thread that was in it.
    pub thread: ThreadId,
    /// When it began, in ticks of the process.
    pub begin_ticks: u64,
    /// When it ended.
    pub end_ticks: u64,
    /// Blocks that were allocated in it, and in sections inside it, and were still live.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What these blocks had of nearly empty pages, bytes.
    pub pinned_bytes: u64,
}

/// Of what the resident memory of a process was made at a moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResidentSample {
    /// When its blocks were read, CLOCK_MONOTONIC ns.
    pub mono_ns: u64,
    /// Resident, with the files of the recorder, bytes: all parts sum to it.
    pub resident_bytes: u64,
    /// Pages that are nearly empty, bytes.
    pub pinned_bytes: u64,
    /// Whether blocks were sampled, so that the heap is one part.
    pub is_sampled: bool,
    /// The parts by their numbers: live blocks, their headers and rounding, tails of mapped blocks, free in used pages,
    /// free pages, those at the top, free arenas, a sampled heap, stacks, files, shared memory, the recorder's, other
    /// anonymous memory, unexplained.
    pub parts: [u64; RESIDENT_PARTS],
    /// Sections that had ended since the look before, where it was asked for them.
    pub sections: Vec<SectionLeft>,
}

/// The heap under a process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeapInfo {
    /// Its name.
    pub name: String,
    /// Its configuration: words such as `pool=1048576`.
    pub configuration: String,
}

/// The statistics of the heap under a process at a moment, as the heap reports them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeapSample {
    /// When, CLOCK_MONOTONIC ns.
    pub mono_ns: u64,
    /// Its counters.
    pub counts: HeapCounts,
}
