//! From a word to a word: found without a lock, changed under the recorder's. Of a fixed size, emptied when it gets full:
//! what it has can be worked out again.
//!
//! ```text
//!   entry    key, 0: none    value, 0: forgotten
//!   place    low bits of the key's hash, then the entries after it
//! ```
//! An entry's value is stored before its key, so that who finds the key finds the value.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::platform::lock::Held;
use crate::platform::memory;

type Entry = [AtomicU64; 2];

/// A map of up to three quarters of `PLACES` words, a power of two.
#[derive(Debug)]
pub(super) struct Map<const PLACES: usize> {
    table: AtomicPtr<[Entry; PLACES]>,
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
    fn table(&self) -> Option<&[Entry; PLACES]> {
        const { assert!(PLACES.is_power_of_two()) };
        // SAFETY: a published table stays for the life of the session, and is of atomic integers.
        unsafe { self.table.load(Ordering::Acquire).as_ref() }
    }

    fn entry(&self, key: u64) -> Option<&Entry> {
        let table = self.table()?;
        let mut places = (0..PLACES).map(|n| &table[mixed(key).wrapping_add(n) % PLACES]);
        places.find(|entry| [key, 0].contains(&entry[0].load(Ordering::Acquire)))
    }

    /// The value of a key that is known.
    #[inline(always)]
    pub(super) fn get(&self, key: u64) -> Option<u64> {
        let entry = self.entry(key).filter(|entry| entry[0].load(Ordering::Acquire) == key)?;
        Some(entry[1].load(Ordering::Acquire)).filter(|value| *value != 0)
    }

    /// Sets the value of a key; neither is 0. False when there is no memory.
    pub(super) fn set(&self, key: u64, value: u64, held: &Held<'_>) -> bool {
        if self.table().is_none() {
            let Some(place) = memory::alloc(size_of::<[Entry; PLACES]>(), held) else { return false };
            self.table.store(place.cast().as_ptr(), Ordering::Release);
        }
        if self.count.load(Ordering::Relaxed) as usize >= PLACES / 4 * 3 {
            self.empty();
        }
        let Some([found, place]) = self.entry(key) else { return false };
        place.store(value, Ordering::Release);
        if found.swap(key, Ordering::Release) == 0 {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
        true
    }

    /// Forgets the value of a key. Without the lock.
    pub(super) fn forget(&self, key: u64) -> bool {
        let entry = self.entry(key).filter(|entry| entry[0].load(Ordering::Acquire) == key);
        entry.is_some_and(|entry| entry[1].swap(0, Ordering::AcqRel) != 0)
    }

    /// Values first: who finds a key still finds that it is forgotten.
    fn empty(&self) {
        let Some(table) = self.table() else { return };
        for index in [1, 0] {
            table.iter().for_each(|entry| entry[index].store(0, Ordering::Release));
        }
        self.count.store(0, Ordering::Relaxed);
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
}
