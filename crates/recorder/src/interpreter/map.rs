//! From a word to a word: found without a lock, changed under the recorder's. It begins small, as a Python program with a
//! table for the largest had touched 6 MiB of it after its start; at its largest it is emptied when it gets full: what it
//! has can be worked out again.
//!
//! ```text
//!   value    0: forgotten
//!   place    low bits of the key's hash, then the entries after it
//! ```
//! An entry's value is stored before its key, so that who finds the key finds the value. A table that has grown too full
//! is replaced, and the memory of the old one discarded: who still reads it finds nothing there, and works it out.

use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use crate::platform::entry_table::{CurrentTable, Entry, EntryTable};
use crate::platform::lock::Held;

const FIRST_CAPACITY: usize = 1 << 10;
/// By how much a table grows: what is copied and thrown away is a third of what is there at last.
const GROWTH: usize = 4;

/// The entry of a key, or the free one that is next for it.
#[inline(always)]
fn entry(table: &EntryTable, key: u64) -> Option<&Entry> {
    let mut places = (0..table.capacity()).map(|n| table.at(mixed(key).wrapping_add(n)));
    places.find(|entry| [key, 0].contains(&entry[0].load(Ordering::Acquire)))
}

/// The value of a key that is there.
#[inline(always)]
fn value(table: &EntryTable, key: u64) -> Option<&AtomicU64> {
    let [_, value] = entry(table, key).filter(|entry| entry[0].load(Ordering::Acquire) == key)?;
    Some(value)
}

/// Whether the key took a place.
fn set(table: &EntryTable, key: u64, value: u64) -> Option<bool> {
    let [found, place] = entry(table, key)?;
    place.store(value, Ordering::Release);
    Some(found.swap(key, Ordering::Release) == 0)
}

fn forget(table: &EntryTable, key: u64) -> bool {
    value(table, key).is_some_and(|value| value.swap(0, Ordering::AcqRel) != 0)
}

/// Values first: who finds a key still finds that it is forgotten.
fn empty(table: &EntryTable) {
    for part in [1, 0] {
        table.entries().for_each(|entry| entry[part].store(0, Ordering::Release));
    }
}

/// A map of up to three quarters of `PLACES` words, a power of two.
#[derive(Debug, Default)]
pub(super) struct Map<const PLACES: usize> {
    table: CurrentTable,
    /// The one that is to replace it, while that is filled.
    next: CurrentTable,
    count: AtomicU32,
}

/// Words that differ anywhere differ in their low bits.
#[inline(always)]
const fn mixed(key: u64) -> usize {
    let key = (key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (key ^ key >> 29) as usize
}

impl<const PLACES: usize> Map<PLACES> {
    /// The value of a key that is known.
    #[inline(always)]
    pub(super) fn get(&self, key: u64) -> Option<u64> {
        Some(value(self.table.get()?, key)?.load(Ordering::Acquire)).filter(|value| *value != 0)
    }

    /// Sets the value of a key; neither is 0. False when there is no memory.
    pub(super) fn set(&self, key: u64, value: u64, held: &Held<'_>) -> bool {
        let Some(table) = self.with_room(held) else { return false };
        let Some(is_new) = set(table, key, value) else { return false };
        self.count.fetch_add(u32::from(is_new), Ordering::Relaxed);
        true
    }

    fn with_room(&self, held: &Held<'_>) -> Option<&EntryTable> {
        const { assert!(PLACES.is_power_of_two()) };
        let Some(table) = self.table.get() else { return self.grow(None, FIRST_CAPACITY.min(PLACES), held) };
        if (self.count.load(Ordering::Relaxed) as usize) < table.capacity() / 4 * 3 {
            return Some(table);
        }
        let larger = (table.capacity() < PLACES)
            .then(|| self.grow(Some(table), (table.capacity() * GROWTH).min(PLACES), held));
        larger.flatten().or_else(|| {
            empty(table);
            self.count.store(0, Ordering::Relaxed);
            Some(table)
        })
    }

    #[cold]
    fn grow(&self, old: Option<&EntryTable>, capacity: usize, held: &Held<'_>) -> Option<&EntryTable> {
        let table = EntryTable::new(capacity, held)?;
        let entries = || old.into_iter().flat_map(EntryTable::entries);
        // What is forgotten meanwhile: either it is seen here, or who forgets it sees the new table. Before others find
        // that: for some time they found in it what had been forgotten.
        self.next.set(table);
        fence(Ordering::SeqCst);
        let (mut count, mut has_room) = (0, true);
        for [key, value] in entries() {
            let (key, value) = (key.load(Ordering::Relaxed), value.load(Ordering::Acquire));
            if key != 0 && value != 0 {
                let is_new = set(table, key, value);
                has_room &= is_new.is_some();
                count += u32::from(is_new == Some(true));
            }
        }
        fence(Ordering::SeqCst);
        for [key, value] in entries() {
            let key = key.load(Ordering::Relaxed);
            if key != 0 && value.load(Ordering::Acquire) == 0 {
                forget(table, key);
            }
        }
        if has_room {
            self.count.store(count, Ordering::Relaxed);
            self.table.set(table);
        }
        self.next.clear();
        if !has_room {
            return None;
        }
        if let Some(old) = old {
            old.discard();
        }
        Some(table)
    }

    /// Forgets the value of a key. Without the lock.
    pub(super) fn forget(&self, key: u64) -> bool {
        let mut was_known = false;
        let mut table = self.table.get();
        while let Some(of) = table {
            was_known |= forget(of, key);
            // See `grow`.
            fence(Ordering::SeqCst);
            was_known |= self.next.get().is_some_and(|next| forget(next, key));
            table = self.table.get().filter(|now| !ptr::eq(*now, of));
        }
        was_known
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(map.table.get().unwrap().capacity(), 1 << 16);
    }

    /// A code object that is freed while the table is replaced must not come back: the next one at its address would have
    /// its name. (It did for a moment, between the new table's being found and its being cleared of what had been forgotten.)
    #[test]
    fn what_is_forgotten_while_it_grows_stays_forgotten() {
        const LAST: u64 = FIRST_CAPACITY as u64 / 4 * 3;
        for _ in 0..500 {
            let (map, lock, is_full) = (Map::<{ 1 << 16 }>::default(), Lock::default(), AtomicU32::new(0));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for key in 1..=LAST + 1 {
                        is_full.store(u32::from(key > LAST), Ordering::Release);
                        assert!(map.set(key, key, &lock.hold().unwrap()));
                    }
                });
                while is_full.load(Ordering::Acquire) == 0 {
                    std::hint::spin_loop();
                }
                for key in 1..=LAST {
                    map.forget(key);
                    assert_eq!(map.get(key), None, "{key}");
                }
            });
            assert!((1..=LAST).all(|key| map.get(key).is_none()));
            assert_eq!(map.table.get().unwrap().capacity(), FIRST_CAPACITY * GROWTH);
        }
    }
}
