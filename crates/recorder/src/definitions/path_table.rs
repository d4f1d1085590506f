//! Numbers by the hash of a path, looked up without a lock.
//!
//! ```text
//!   entry    hash of the path, 0: no entry    bits 0..32   number of the node in defs, 0: forgotten
//!                                             bits 32..64  modules on the path that may be unloaded, some to a bit
//!   place    low bits of the hash, then the entries after it
//! ```
//! An entry's number is stored before its hash. A table that has grown too full is replaced by one twice
//! as large, and the memory of the old one is discarded at once: whoever still reads it finds it empty, and
//! looks into the new one under the lock.
#![allow(unsafe_code)]

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use heapscribe_wire::ids::StackId;

use crate::platform::lock::Held;
use crate::platform::memory;
use crate::unwind::PathHash;

pub(super) const FIRST_CAPACITY: usize = 4096;

/// A table: this, then `capacity` entries.
#[repr(C, align(64))]
#[derive(Debug)]
struct Table {
    capacity: usize,
}

type Entry = [AtomicU64; 2];

impl Table {
    const fn bytes(capacity: usize) -> usize {
        size_of::<Table>() + capacity * size_of::<Entry>()
    }

    #[inline(always)]
    fn entry(&self, index: usize) -> &Entry {
        // SAFETY: a table is allocated with `capacity` entries behind it; the index is masked.
        unsafe { &*ptr::from_ref(self).add(1).cast::<Entry>().add(index & (self.capacity - 1)) }
    }

    /// What a path's entry holds; 0 when it has none, or the table's memory was discarded this instant.
    #[inline(always)]
    fn value(&self, hash: u64) -> u64 {
        let mut index = hash as usize;
        for _ in 0..self.capacity {
            let [found, value] = self.entry(index);
            match found.load(Ordering::Acquire) {
                0 => return 0,
                h if h == hash => return value.load(Ordering::Relaxed),
                _ => index = index.wrapping_add(1),
            }
        }
        0
    }

    /// Under the lock. Whether it took a place; one that was forgotten is its own still.
    fn insert(&self, hash: u64, value: u64) -> bool {
        let mut index = hash as usize;
        for _ in 0..self.capacity {
            let [found, place] = self.entry(index);
            let there = found.load(Ordering::Relaxed);
            if there == 0 || there == hash {
                place.store(value, Ordering::Relaxed);
                // Also when it was there: who sees the value is to see what was defined before it.
                found.store(hash, Ordering::Release);
                return there == 0;
            }
            index = index.wrapping_add(1);
        }
        false
    }

    /// Discards the pages of a table that nobody looks into any more, but for the first, whose capacity
    /// readers may still use.
    fn discard(&self) {
        let begin = ptr::from_ref(self) as usize;
        // SAFETY: the table's own entries, which are atomic integers that may turn to zero at any time.
        unsafe { memory::discard(begin + size_of::<Table>(), begin + Table::bytes(self.capacity)) };
    }
}

/// What is known of a path.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Known {
    /// Its number; `UNKNOWN` when it has none.
    pub id: StackId,
    /// The modules on it that may be unloaded.
    pub modules: u32,
}

impl Known {
    fn from_word(word: u64) -> Known {
        Known { id: StackId(word as u32), modules: (word >> 32) as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.modules) << 32 | u64::from(self.id.0)
    }
}

/// The numbers of some paths, in a table that is replaced by a larger one when it is more than `FULL` eighths full.
#[derive(Debug, Default)]
pub(super) struct PathTable<const FULL: usize> {
    table: AtomicPtr<Table>,
    entries: AtomicUsize,
}

/// A table that has room for what was asked for.
#[derive(Clone, Copy)]
pub(super) struct WithRoom<'a> {
    table: &'a Table,
    entries: &'a AtomicUsize,
}

impl WithRoom<'_> {
    /// Under the lock.
    pub(super) fn insert(self, path: PathHash, known: Known) {
        let is_new = self.table.insert(path.key(), known.word());
        self.entries.store(self.entries.load(Ordering::Relaxed) + usize::from(is_new), Ordering::Relaxed);
    }
}

impl<const FULL: usize> PathTable<FULL> {
    #[inline(always)]
    fn table(&self) -> Option<&Table> {
        // SAFETY: a published table stays for the life of the process; its entries may turn to zero.
        unsafe { self.table.load(Ordering::Acquire).as_ref() }
    }

    /// What is known of a path.
    #[inline(always)]
    pub(super) fn get(&self, path: PathHash) -> Known {
        Known::from_word(self.table().map_or(0, |table| table.value(path.key())))
    }

    /// How many paths have an entry.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.load(Ordering::Relaxed)
    }

    /// Forgets the numbers of all paths through any of these modules; of all paths, when `modules` is none.
    pub(super) fn forget(&self, modules: u32, _held: &Held<'_>) {
        let Some(table) = self.table() else { return };
        for index in 0..table.capacity {
            let [_, value] = table.entry(index);
            let through = Known::from_word(value.load(Ordering::Relaxed)).modules;
            if modules == 0 || through & modules != 0 {
                value.store(0, Ordering::Relaxed);
            }
        }
    }

    /// The table, replaced by a larger one when it is too full with so many more.
    #[inline]
    pub(super) fn with_room(&self, more: usize, held: &Held<'_>) -> Option<WithRoom<'_>> {
        let wanted = (self.entries.load(Ordering::Relaxed) + more) * 8;
        let enough = |capacity: usize| wanted <= capacity * FULL;
        let table = match self.table() {
            Some(table) if enough(table.capacity) => table,
            table => self.grow(table, enough, held)?,
        };
        Some(WithRoom { table, entries: &self.entries })
    }

    #[cold]
    #[inline(never)]
    fn grow(&self, old: Option<&Table>, enough: impl Fn(usize) -> bool, held: &Held<'_>) -> Option<&Table> {
        let first = old.map_or(FIRST_CAPACITY, |old| old.capacity);
        let mut larger = core::iter::successors(Some(first), |capacity| capacity.checked_mul(2));
        let capacity = larger.find(|&capacity| enough(capacity))?;
        let place = memory::alloc_dense(Table::bytes(capacity), held)?.cast::<Table>();
        // SAFETY: zeroed bytes of that many, which are an empty table but for its capacity.
        let table = unsafe {
            (*place.as_ptr()).capacity = capacity;
            place.as_ref()
        };
        let mut entries = 0;
        for index in 0..old.map_or(0, |old| old.capacity) {
            let [hash, value] = old?.entry(index);
            let (hash, value) = (hash.load(Ordering::Relaxed), value.load(Ordering::Relaxed));
            if hash != 0 && value != 0 {
                entries += usize::from(table.insert(hash, value));
            }
        }
        self.entries.store(entries, Ordering::Relaxed);
        self.table.store(place.as_ptr(), Ordering::Release);
        if let Some(old) = old {
            old.discard();
        }
        Some(table)
    }
}
