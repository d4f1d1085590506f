//! Statistics of the heap under a program.

use heapscribe_formats::HeapInfo;
use heapscribe_wire::heap::HeapCounts;

/// What a heap under a process reports of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Heap {
    /// Its name and configuration.
    pub info: HeapInfo,
    /// Its last statistics.
    pub last: HeapCounts,
    /// The most of its free memory that one request could not have got, in thousandths, of its samples.
    pub fragmentation_peak_per_mille: u32,
    /// How often it was looked at.
    pub samples: u64,
}
