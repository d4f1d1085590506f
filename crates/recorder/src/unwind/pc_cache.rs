//! Rules by return address, for all threads at once: one load, no lock, never another address's
//! rule.
//!
//! The 48 bits of an address are split without loss into the number of an entry and the entry's tag, so
//! that a tag that fits proves the address. An entry is one word, so it is never seen half written:
//!
//! | bits   | field                                     |
//! |--------|-------------------------------------------|
//! | 0..32  | tag: bits 16..48 of the address           |
//! | 32..64 | rule, see [`Rule`]; 0: the entry is empty |
//!
//! The entry's number is bits 0..16 of the address, xor bits 16..32. A newer rule replaces an older one.
//! Who finds a rule also sees what was done before it was put there (the announcement of its module).

use core::ops::RangeInclusive;
use core::sync::atomic::{AtomicU64, Ordering};

use super::rule::Rule;

/// How many rules are cached.
pub const ENTRIES: usize = 1 << 16;

/// The cache; its memory (512 KiB of zeroes) is brought by the caller.
#[derive(Clone, Copy, Debug)]
pub struct PcCache {
    entries: &'static [AtomicU64; ENTRIES],
}

/// An address in two halves, from which it can be had back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    index: u16,
    tag: u32,
}

impl Key {
    /// None for what is not a user-space address of 48 bits.
    #[inline(always)]
    const fn new(pc: usize) -> Option<Key> {
        if pc >> 48 != 0 {
            return None;
        }
        // Neighbouring blocks of 64 KiB go to different places; two operations, because every step of a
        // walk waits for them.
        let tag = (pc >> 16) as u32;
        Some(Key { index: pc as u16 ^ tag as u16, tag })
    }

    /// The address.
    const fn address(self) -> usize {
        (self.tag as usize) << 16 | (self.index ^ self.tag as u16) as usize
    }
}

impl PcCache {
    /// A cache in `entries`, all zero, or filled by another cache of the same process.
    pub const fn new(entries: &'static [AtomicU64; ENTRIES]) -> PcCache {
        PcCache { entries }
    }

    #[inline(always)]
    fn entry(&self, key: Key) -> &AtomicU64 {
        // An index of 16 bits in an array of 2^16 entries: no check is left here.
        &self.entries[usize::from(key.index)]
    }

    /// The rule cached for return address `pc`.
    #[inline(always)]
    pub fn get(&self, pc: usize) -> Option<Rule> {
        let key = Key::new(pc)?;
        let word = self.entry(key).load(Ordering::Acquire);
        if word as u32 == key.tag { Rule::from_bits((word >> 32) as u32) } else { None }
    }

    /// Caches `rule` for return address `pc`.
    pub fn put(&self, pc: usize, rule: Rule) {
        if let Some(key) = Key::new(pc) {
            let word = u64::from(rule.to_bits()) << 32 | u64::from(key.tag);
            self.entry(key).store(word, Ordering::Release);
        }
    }

    /// Forgets the rules of some addresses: code was loaded or unloaded there.
    pub fn forget(&self, pcs: RangeInclusive<usize>) {
        if pcs.end().saturating_sub(*pcs.start()) < ENTRIES {
            return pcs.filter_map(Key::new).for_each(|key| self.forget_key(key));
        }
        for (entry, index) in self.entries.iter().zip(0u16..=u16::MAX) {
            let tag = entry.load(Ordering::Relaxed) as u32;
            let key = Key { index, tag };
            if pcs.contains(&key.address()) {
                self.forget_key(key);
            }
        }
    }

    /// Leaves an entry alone that has another address's rule, or gets it this instant.
    fn forget_key(&self, key: Key) {
        let entry = self.entry(key);
        let word = entry.load(Ordering::SeqCst);
        if word as u32 == key.tag {
            let _ = entry.compare_exchange(word, 0, Ordering::SeqCst, Ordering::Relaxed);
        }
    }

    /// Forgets all rules: modules were loaded or unloaded.
    pub fn clear(&self) {
        for entry in self.entries {
            entry.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    static MEMORY: [AtomicU64; ENTRIES] = [const { AtomicU64::new(0) }; ENTRIES];

    proptest! {
        #[test]
        fn a_key_is_the_address(pc in 0usize..1 << 48) {
            let key = Key::new(pc).unwrap();
            prop_assert_eq!(key.address(), pc);
        }
    }

    #[test]
    fn what_was_put_is_found_until_cleared() {
        let cache = PcCache::new(&MEMORY);
        for pc in [0, 1, 0x7fff_ffff_ffff, (1 << 48) - 1] {
            assert_eq!(cache.get(pc), None);
            cache.put(pc, Rule::OTHER);
            assert_eq!(cache.get(pc), Some(Rule::OTHER));
        }
        cache.put(1 << 48, Rule::END);
        assert_eq!(cache.get(1 << 48), None);
        cache.clear();
        assert_eq!(cache.get(1), None);
    }
    #[test]
    fn some_are_forgotten_and_no_others() {
        static MEMORY: [AtomicU64; ENTRIES] = [const { AtomicU64::new(0) }; ENTRIES];
        let cache = PcCache::new(&MEMORY);
        let all = [0x1_0000, 0x1_0004, 0x1_0008, 0x7f00_0001_0004, 0x7f00_0010_0000];
        let left = |range| {
            all.iter().for_each(|&pc| cache.put(pc, Rule::END));
            cache.forget(range);
            all.map(|pc| cache.get(pc).is_some())
        };
        assert_eq!(left(0x1_0001..=0x1_0007), [true, false, true, true, true]);
        assert_eq!(left(0x1_0004..=0x7f00_0001_0004), [true, false, false, false, true]);
        assert_eq!(left(0..=usize::MAX), [false; 5]);
    }
}
