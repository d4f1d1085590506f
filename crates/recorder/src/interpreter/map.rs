//! From a word to a word: found without a lock, changed under the recorder's. It begins small, as a Python program with a
//! table for the largest had touched 6 MiB of it after its start; at its largest it is emptied when it gets full: what it
//! has can be worked out again.
//!
//! ```text
//!   table    capacity, then the entries
//!   entry    key, 0: none    value, 0: forgotten
//!   place    low bits of the key's hash, then the entries after it
//! ```
//! An entry's value is stored before its key, so that who finds the key finds the value. A table that has grown too full
//! is replaced, and the memory of the old one discarded: who still reads it finds nothing there, and works it out.
#![allow(unsafe_code)]

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

use crate::platform::lock::Held;
use crate::platform::memory;

type Entry = [AtomicU64; 2];

const FIRST_CAPACITY: usize = 1 << 10;
/// By how much a table grows: what is copied and thrown away is a third of what is there at last.
const GROWTH: usize = 4;

/// A table: this, then `capacity` entries, a power of two.
#[derive(Debug)]
#[repr(C, align(16))]
struct Table {
    capacity: usize,
}

impl Table {
    const fn bytes(capacity: usize) -> usize {
        size_of::<Table>() + capacity * size_of::<Entry>()
    }

    #[inline(always)]
    fn at(&self, index: usize) -> &Entry {
        // SAFETY: a table is allocated with `capacity` entries behind it; the index is masked.
        unsafe { &*ptr::from_ref(self).add(1).cast::<Entry>().add(index & (self.capacity - 1)) }
    }

    /// The entry of a key, or the free one that is next for it.
    #[inline(always)]
    fn entry(&self, key: u64) -> Option<&Entry> {
        let mut places = (0..self.capacity).map(|n| self.at(mixed(key).wrapping_add(n)));
        places.find(|entry| [key, 0].contains(&entry[0].load(Ordering::Acquire)))
    }

    /// Whether the key took a place.
    fn set(&self, key: u64, value: u64) -> Option<bool> {
        let [found, place] = self.entry(key)?;
        place.store(value, Ordering::Release);
        Some(found.swap(key, Ordering::Release) == 0)
    }

    fn forget(&self, key: u64) -> bool {
        let entry = self.entry(key).filter(|entry| entry[0].load(Ordering::Acquire) == key);
        entry.is_some_and(|entry| entry[1].swap(0, Ordering::AcqRel) != 0)
    }

    /// Values first: who finds a key still finds that it is forgotten.
    fn empty(&self) {
        for part in [1, 0] {
            (0..self.capacity).for_each(|index| self.at(index)[part].store(0, Ordering::Release));
        }
    }

    /// Discards its pages but for the first, whose capacity readers may still use.
    fn discard(&self) {
        let begin = ptr::from_ref(self) as usize;
        // SAFETY: the table's own entries, which are atomic integers that may turn to zero at any time.
        unsafe { memory::discard(begin + size_of::<Table>(), begin + Table::bytes(self.capacity)) };
    }
}

/// A map of up to three quarters of `PLACES` words, a power of two.
#[derive(Debug)]
pub(super) struct Map<const PLACES: usize> {
    table: AtomicPtr<Table>,
    count: AtomicU32,
}

impl<const PLACES: usize> Default for Map<PLACES> {
    fn default() -> Self {
        Map { table: AtomicPtr::default(), count: AtomicU32::new(0) }
    }
}

/// Words that differ anywhere differ in their low bits.
#[inline(always)]
const fn mixed(key: u64) -> usize {
    let key = (key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (key ^ key >> 29) as usize
}

impl<const PLACES: usize> Map<PLACES> {
    #[inline(always)]
    fn table(&self) -> Option<&Table> {
        const { assert!(PLACES.is_power_of_two()) };
        // SAFETY: a published table stays for the life of the session, and is of atomic integers but for its capacity,
        // which stays as it is.
        unsafe { self.table.load(Ordering::Acquire).as_ref() }
    }

    /// The value of a key that is known.
    #[inline(always)]
    pub(super) fn get(&self, key: u64) -> Option<u64> {
        let entry = self.table()?.entry(key).filter(|entry| entry[0].load(Ordering::Acquire) == key)?;
        Some(entry[1].load(Ordering::Acquire)).filter(|value| *value != 0)
    }

    /// Sets the value of a key; neither is 0. False when there is no memory.
    pub(super) fn set(&self, key: u64, value: u64, held: &Held<'_>) -> bool {
        let Some(table) = self.with_room(held) else { return false };
        let Some(is_new) = table.set(key, value) else { return false };
        self.count.fetch_add(u32::from(is_new), Ordering::Relaxed);
        true
    }

    fn with_room(&self, held: &Held<'_>) -> Option<&Table> {
        let Some(table) = self.table() else { return self.grow(None, FIRST_CAPACITY.min(PLACES), held) };
        if (self.count.load(Ordering::Relaxed) as usize) < table.capacity / 4 * 3 {
            return Some(table);
        }
        let larger = (table.capacity < PLACES)
            .then(|| self.grow(Some(table), (table.capacity * GROWTH).min(PLACES), held));
        larger.flatten().or_else(|| {
            table.empty();
            self.count.store(0, Ordering::Relaxed);
            Some(table)
        })
    }

    #[cold]
    fn grow(&self, old: Option<&Table>, capacity: usize, held: &Held<'_>) -> Option<&Table> {
        let place = memory::alloc(Table::bytes(capacity), held)?.cast::<Table>();
        // SAFETY: zeroed bytes of that many, which are an empty table but for its capacity.
        let table = unsafe {
            (*place.as_ptr()).capacity = capacity;
            place.as_ref()
        };
        let entries = || old.into_iter().flat_map(|old| (0..old.capacity).map(|index| old.at(index)));
        let mut count = 0;
        for [key, value] in entries() {
            let (key, value) = (key.load(Ordering::Relaxed), value.load(Ordering::Acquire));
            if key != 0 && value != 0 {
                count += u32::from(table.set(key, value)?);
            }
        }
        self.count.store(count, Ordering::Relaxed);
        self.table.store(place.as_ptr(), Ordering::Release);
        // What was forgotten after it was copied: either it is seen here, or who forgets it sees the new table.
        fence(Ordering::SeqCst);
        for [key, value] in entries() {
            let key = key.load(Ordering::Relaxed);
            if key != 0 && value.load(Ordering::Acquire) == 0 {
                table.forget(key);
            }
        }
        if let Some(old) = old {
            old.discard();
        }
        Some(table)
    }

    /// Forgets the value of a key. Without the lock.
    pub(super) fn forget(&self, key: u64) -> bool {
        let mut was_known = false;
        let mut table = self.table();
        while let Some(of) = table {
            was_known |= of.forget(key);
            // See `grow`.
            fence(Ordering::SeqCst);
            table = self.table().filter(|now| !ptr::eq(*now, of));
        }
        was_known
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::platform::lock::Lock;

    #[test]
    fn what_was_set_is_found_until_it_is_forgotten_or_the_map_is_full() {
        let (map, lock) = (Map::<64>::default(), Lock::default());
        assert_eq!(map.get(5), None);
        for key in 1..=48 {
            assert!(map.set(key << 20, key, &lock.hold().unwrap()));
        }
        assert!((1..=48).all(|key| map.get(key << 20) == Some(key)));
        assert!(map.forget(7 << 20) && !map.forget(7 << 20));
        assert_eq!(map.get(7 << 20), None);
        assert!(map.set(99, 1, &lock.hold().unwrap()));
        assert_eq!((map.get(99), map.get(8 << 20)), (Some(1), None));
    }

    #[test]
    fn it_grows_with_what_it_has() {
        let (map, lock) = (Map::<{ 1 << 16 }>::default(), Lock::default());
        for key in 1..=20_000 {
            assert!(map.set(key << 20, key, &lock.hold().unwrap()));
            assert!(!key.is_multiple_of(3) || map.forget(key << 20));
        }
        let wanted = |key: u64| (!key.is_multiple_of(3)).then_some(key);
        assert!((1..=20_000).all(|key| map.get(key << 20) == wanted(key)));
        assert_eq!(map.table().unwrap().capacity, 1 << 16);
    }

    /// A code object that is freed while the table is replaced must not come back: the next one at its address would have
    /// its name.
    #[test]
    fn what_is_forgotten_while_it_grows_stays_forgotten() {
        for _ in 0..20 {
            let (map, lock, set) = (Map::<{ 1 << 16 }>::default(), Lock::default(), AtomicU64::new(0));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for key in 1..=6_000 {
                        assert!(map.set(key, key, &lock.hold().unwrap()));
                        set.store(key, Ordering::Release);
                    }
                });
                let mut key = 0;
                while key < 6_000 {
                    while key < set.load(Ordering::Acquire) {
                        key += 1;
                        map.forget(key);
                        assert_eq!(map.get(key), None, "{key}");
                    }
                }
            });
            assert!((1..=6_000).all(|key| map.get(key).is_none()));
        }
    }
}
