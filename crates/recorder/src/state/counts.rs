//! What threads count of themselves, added up: for a program that asks how much it has allocated.

use core::sync::atomic::Ordering;

use heapscribe_wire::operation::ThreadRecord;

/// Totals of recorded blocks of the heap, those of pools not among them.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Bytes of blocks that were allocated.
    pub allocated_bytes: u64,
    /// Bytes of blocks that were freed.
    pub freed_bytes: u64,
    /// Blocks that were allocated.
    pub allocated_blocks: u64,
    /// Blocks that were freed.
    pub freed_blocks: u64,
}

impl Counts {
    /// Those of a record.
    pub(crate) fn of(record: &ThreadRecord) -> Counts {
        Counts {
            allocated_bytes: record.allocated_bytes.load(Ordering::Relaxed),
            freed_bytes: record.freed_bytes.load(Ordering::Relaxed),
            allocated_blocks: record.allocated_blocks.load(Ordering::Relaxed),
            freed_blocks: record.freed_blocks.load(Ordering::Relaxed),
        }
    }

    /// Both together.
    pub(crate) fn plus(self, other: Counts) -> Counts {
        self.with(other, u64::wrapping_add)
    }

    /// These without those.
    pub(crate) fn less(self, other: Counts) -> Counts {
        self.with(other, u64::wrapping_sub)
    }

    fn with(self, other: Counts, f: fn(u64, u64) -> u64) -> Counts {
        Counts {
            allocated_bytes: f(self.allocated_bytes, other.allocated_bytes),
            freed_bytes: f(self.freed_bytes, other.freed_bytes),
            allocated_blocks: f(self.allocated_blocks, other.allocated_blocks),
            freed_blocks: f(self.freed_blocks, other.freed_blocks),
        }
    }
}
