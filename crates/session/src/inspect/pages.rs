//! What a process has mapped, beside a snapshot of its blocks. Blocks are of the instant in which threads were held back; pages
//! are read right after it, while the threads run, so that a process is held no longer than for the blocks alone. How far
//! the two may disagree is known: it is what was allocated and freed in between, which the threads count.

use heapscribe_formats::model::{HeapInfo, HeapLayout, HeapSample, MemoryMap};

use crate::glibc_heap::FreeMemory;
use crate::memory_map::ProcessMap;

/// What a process had mapped, read beside its blocks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SnapshotPages {
    /// The mappings and pages.
    pub map: ProcessMap,
    /// Bytes that were allocated from the instant of the blocks until the pages were read.
    pub allocated_bytes: u64,
    /// Bytes that were freed meanwhile.
    pub freed_bytes: u64,
    /// The heap of the blocks.
    pub heap: HeapLayout,
    /// What the heap itself has of free memory.
    pub free: FreeMemory,
    /// What the heap counted last, where it counts.
    pub statistics: Option<(HeapInfo, HeapSample)>,
}

impl SnapshotPages {
    /// The head of it, beside this table.
    pub(super) fn head(&self, table: u32) -> MemoryMap {
        MemoryMap {
            table,
            begin_mono_ns: self.map.begin_mono_ns,
            end_mono_ns: self.map.end_mono_ns,
            page_bytes: self.map.page_bytes,
            allocated_bytes: self.allocated_bytes,
            freed_bytes: self.freed_bytes,
            heap: self.heap,
            mappings: self.map.mappings.len() as u64,
            runs: self.map.runs.len() as u64,
            lists: self.free.lists,
            free: self.free.ranges.len() as u64,
        }
    }
}
