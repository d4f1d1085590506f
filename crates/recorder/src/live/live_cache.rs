//! What a thread keeps of the live table.

use super::free_slots::FreeSlots;
use super::regions::RegionCache;

/// Where a thread was last, and slots for its next blocks.
#[derive(Debug, Default)]
pub(crate) struct LiveCache {
    pub(super) regions: RegionCache,
    pub(super) free: FreeSlots,
}

impl LiveCache {
    /// For a thread that begins, in the place of one that has ended, whose free slots it has.
    pub(crate) fn clear(&self) {
        self.regions.clear();
    }
}
