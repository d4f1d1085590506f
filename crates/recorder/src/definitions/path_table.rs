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

use core::sync::atomic::{AtomicUsize, Ordering};

use heapscribe_wire::ids::StackId;

use crate::platform::entry_table::{CurrentTable, EntryTable};
use crate::platform::lock::Held;
use crate::unwind::PathHash;

pub(super) const FIRST_CAPACITY: usize = 4096;

/// What a path's entry holds; 0 when it has none, or the table's memory was discarded this instant.
#[inline(always)]
fn value(table: &EntryTable, hash: u64) -> u64 {
    let mut index = hash as usize;
    for _ in 0..table.capacity() {
        let [found, value] = table.at(index);
        match found.load(Ordering::Acquire) {
            0 => return 0,
            h if h == hash => return value.load(Ordering::Relaxed),
            _ => index = index.wrapping_add(1),
        }
    }
    0
}

/// Under the lock. Whether it took a place; one that was forgotten is its own still.
fn insert(table: &EntryTable, hash: u64, value: u64) -> bool {
    let mut index = hash as usize;
    for _ in 0..table.capacity() {
        let [found, place] = table.at(index);
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
    table: CurrentTable,
    entries: AtomicUsize,
}

/// A table that has room for what was asked for.
#[derive(Clone, Copy)]
pub(super) struct WithRoom<'a> {
    table: &'a EntryTable,
    entries: &'a AtomicUsize,
}

impl WithRoom<'_> {
    /// Under the lock.
    pub(super) fn insert(self, path: PathHash, known: Known) {
        let is_new = insert(self.table, path.key(), known.word());
        self.entries.store(self.entries.load(Ordering::Relaxed) + usize::from(is_new), Ordering::Relaxed);
    }
}

impl<const FULL: usize> PathTable<FULL> {
    /// What is known of a path.
    #[inline(always)]
    pub(super) fn get(&self, path: PathHash) -> Known {
        Known::from_word(self.table.get().map_or(0, |table| value(table, path.key())))
    }

    /// Has what is known of these paths fetched into the cache.
    #[inline(always)]
    pub(super) fn prefetch(&self, paths: impl Iterator<Item = PathHash>) {
        if let Some(table) = self.table.get() {
            paths.for_each(|path| table.prefetch(path.key() as usize));
        }
    }

    /// How many paths have an entry.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.load(Ordering::Relaxed)
    }

    /// Forgets the numbers of all paths through any of these modules; of all paths, when `modules` is none.
    pub(super) fn forget(&self, modules: u32, _held: &Held<'_>) {
        for [_, value] in self.table.get().into_iter().flat_map(EntryTable::entries) {
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
        let table = match self.table.get() {
            Some(table) if enough(table.capacity()) => table,
            table => self.grow(table, enough, held)?,
        };
        Some(WithRoom { table, entries: &self.entries })
    }

    #[cold]
    #[inline(never)]
    fn grow(
        &self,
        old: Option<&EntryTable>,
        enough: impl Fn(usize) -> bool,
        held: &Held<'_>,
    ) -> Option<&EntryTable> {
        let first = old.map_or(FIRST_CAPACITY, EntryTable::capacity);
        let mut larger = core::iter::successors(Some(first), |capacity| capacity.checked_mul(2));
        let table = EntryTable::dense(larger.find(|&capacity| enough(capacity))?, held)?;
        let mut entries = 0;
        for [hash, value] in old.into_iter().flat_map(EntryTable::entries) {
            let (hash, value) = (hash.load(Ordering::Relaxed), value.load(Ordering::Relaxed));
            if hash != 0 && value != 0 {
                entries += usize::from(insert(table, hash, value));
            }
        }
        self.entries.store(entries, Ordering::Relaxed);
        self.table.set(table);
        if let Some(old) = old {
            old.discard();
        }
        Some(table)
    }
}
