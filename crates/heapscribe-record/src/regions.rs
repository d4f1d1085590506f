//! Where in the live table a thread was last: a walk through two tables is then one comparison.

use core::cell::Cell;
use core::sync::atomic::{Ordering, compiler_fence};

/// Regions that a thread found last, so that most look-ups touch nothing but the slot. A handler may jump
/// away at any store, so a key is taken off before its unit changes and put on after.
#[derive(Debug)]
pub(crate) struct RegionCache([(Cell<u64>, Cell<u32>); 8]);

const NO_KEY: u64 = u64::MAX;

impl Default for RegionCache {
    fn default() -> Self {
        RegionCache([const { (Cell::new(NO_KEY), Cell::new(0)) }; 8])
    }
}

impl RegionCache {
    /// Forgets them: for a thread that begins.
    pub(crate) fn clear(&self) {
        self.0.iter().for_each(|(key, _)| key.set(NO_KEY));
    }

    /// The first unit of the region that `address` is in, kept under `key`.
    #[inline(always)]
    pub(crate) fn get(&self, address: u64, key: u64) -> Option<u32> {
        let (cached, unit) = &self.0[(address >> 22) as usize % self.0.len()];
        (cached.get() == key).then(|| unit.get())
    }

    /// Keeps the first unit of a region.
    pub(crate) fn set(&self, address: u64, key: u64, unit: u32) {
        let (cached, place) = &self.0[(address >> 22) as usize % self.0.len()];
        cached.set(NO_KEY);
        compiler_fence(Ordering::SeqCst);
        place.set(unit);
        compiler_fence(Ordering::SeqCst);
        cached.set(key);
    }
}
