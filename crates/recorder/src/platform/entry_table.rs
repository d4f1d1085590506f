//! Entries of two words, key and value, that are looked for without a lock: the memory of a table, and which one is the
//! current one. What a key is, when a table is full and what is done then is of those who use it.
//!
//! ```text
//!   table    capacity, then the entries
//!   entry    key, 0: none    value
//! ```
//! A table stays for the life of the process. The memory of one that was replaced is discarded: who still looks into it
//! finds nothing there.
#![allow(unsafe_code)]

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::lock::Held;
use super::memory;

/// Key and value.
pub(crate) type Entry = [AtomicU64; 2];

/// A table: this, then `capacity` entries, a power of two.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct EntryTable {
    capacity: usize,
}

impl EntryTable {
    const fn bytes(capacity: usize) -> usize {
        size_of::<EntryTable>() + capacity * size_of::<Entry>()
    }

    /// An empty table. `None` when there is no memory.
    pub(crate) fn new(capacity: usize, held: &Held<'_>) -> Option<&'static EntryTable> {
        let memory = memory::alloc(EntryTable::bytes(capacity), held)?;
        // SAFETY: zeroed memory of that size, which stays and is this table's alone.
        Some(unsafe { EntryTable::over(memory, capacity) })
    }

    /// The same in large pages, see [`memory::alloc_dense`].
    pub(crate) fn dense(capacity: usize, held: &Held<'_>) -> Option<&'static EntryTable> {
        let memory = memory::alloc_dense(EntryTable::bytes(capacity), held)?;
        // SAFETY: zeroed memory of that size, which stays and is this table's alone.
        Some(unsafe { EntryTable::over(memory, capacity) })
    }

    /// # Safety
    /// * `memory` is [`Self::bytes`] of zeroed memory, aligned to 64, and this table's alone, for ever.
    unsafe fn over(memory: NonNull<u8>, capacity: usize) -> &'static EntryTable {
        let place = memory.cast::<EntryTable>();
        // SAFETY: zeroed bytes of that many are an empty table but for its capacity.
        unsafe {
            (*place.as_ptr()).capacity = capacity;
            place.as_ref()
        }
    }

    /// How many entries it has room for.
    #[inline(always)]
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The entry at a place, of which the lowest bits count.
    #[inline(always)]
    pub(crate) fn at(&self, index: usize) -> &Entry {
        // SAFETY: a table is allocated with `capacity` entries behind it; the index is masked.
        unsafe { &*ptr::from_ref(self).add(1).cast::<Entry>().add(index & (self.capacity - 1)) }
    }

    /// Has the entry at a place fetched into the cache.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: usize) {
        memory::prefetch(ptr::from_ref(self.at(index)).cast());
    }

    /// All entries, free ones too.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        (0..self.capacity).map(|index| self.at(index))
    }

    /// Discards the pages of a table that nobody looks into any more, but for the first, whose capacity readers may still
    /// use.
    pub(crate) fn discard(&self) {
        let begin = ptr::from_ref(self) as usize;
        let entries = begin + size_of::<EntryTable>()..begin + EntryTable::bytes(self.capacity);
        // SAFETY: the table's own entries, which are atomic integers that may turn to zero at any time.
        unsafe { memory::discard(entries.start, entries.end) };
    }
}

/// The table that is looked into now.
#[derive(Debug, Default)]
pub(crate) struct CurrentTable(AtomicPtr<EntryTable>);

impl CurrentTable {
    /// `None` while there is none.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&'static EntryTable> {
        // SAFETY: a table stays for the life of the process, and is of atomic integers but for its capacity, which stays
        // as it is.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Replaces it.
    pub(crate) fn set(&self, table: &'static EntryTable) {
        self.0.store(ptr::from_ref(table).cast_mut(), Ordering::Release);
    }

    /// Now there is none.
    pub(crate) fn clear(&self) {
        self.0.store(ptr::null_mut(), Ordering::Release);
    }
}
