//! Where in the live table a thread was last: a walk through two tables is then one comparison.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicU8, Ordering, compiler_fence};

/// A region of the live table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    /// Its first entry; they lie one behind the other.
    pub entries: *mut u8,
    /// The mark of its first unit.
    pub marks: *const AtomicU8,
}

/// One of them.
#[derive(Debug)]
struct Entry {
    key: Cell<u64>,
    entries: Cell<*mut u8>,
    marks: Cell<*const AtomicU8>,
}

/// Regions that a thread found last, so that most look-ups touch nothing but the entry. A handler may jump
/// away at any store, so a key is taken off before its region changes and put on after.
#[derive(Debug)]
pub(crate) struct RegionCache([Entry; 8]);

const NO_KEY: u64 = u64::MAX;

impl Default for RegionCache {
    fn default() -> Self {
        RegionCache(
            [const {
                Entry {
                    key: Cell::new(NO_KEY),
                    entries: Cell::new(ptr::null_mut()),
                    marks: Cell::new(ptr::null()),
                }
            }; 8],
        )
    }
}

impl RegionCache {
    /// Forgets them: for a thread that begins.
    pub(crate) fn clear(&self) {
        self.0.iter().for_each(|entry| entry.key.set(NO_KEY));
    }

    /// The key of an address: its region, and the table that bit 3 picks.
    #[inline(always)]
    const fn key(address: u64) -> u64 {
        address >> 22 << 1 | address >> 3 & 1
    }

    /// The region that `address` is in.
    #[inline(always)]
    pub(crate) fn get(&self, address: u64) -> Option<Region> {
        let entry = &self.0[(address >> 22) as usize % self.0.len()];
        let is_it = entry.key.get() == Self::key(address);
        is_it.then(|| Region { entries: entry.entries.get(), marks: entry.marks.get() })
    }

    /// Keeps the region of an address.
    pub(crate) fn set(&self, address: u64, region: Region) {
        let entry = &self.0[(address >> 22) as usize % self.0.len()];
        entry.key.set(NO_KEY);
        compiler_fence(Ordering::SeqCst);
        entry.entries.set(region.entries);
        entry.marks.set(region.marks);
        compiler_fence(Ordering::SeqCst);
        entry.key.set(Self::key(address));
    }
}
