//! What is said of the heap under a program.

use heapscribe_formats::HeapInfo;
use heapscribe_wire::heap::HeapCounts;

/// What a heap under a process told of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Heap {
    /// What it is called, and was told to be.
    pub info: HeapInfo,
    /// What it said last.
    pub last: HeapCounts,
    /// The most of its free memory that one request could not have got, in thousandths, of its samples.
    pub fragmentation_peak_per_mille: u32,
    /// How often it was looked at.
    pub samples: u64,
}
