//! Rules by return address, for all threads at once: one load, no lock, never another address's
//! rule.
//!
//! The 47 bits of an address are split without loss into the number of a set and a tag, so that a tag that fits
//! proves the address. A set has four entries, because a large program has 27,000 return addresses: with one entry
//! to each place a third of them shared theirs, and of two that are used by turns each is worked out anew each time.
//! An entry is one word, so it is never seen half written:
//!
//! | bits   | field                                            |
//! |--------|--------------------------------------------------|
//! | 0..33  | tag: bits 0..5 and then 19..47 of the address    |
//! | 33..64 | rule, see [`Rule`]; 0: the entry is empty        |
//!
//! The set's number is bits 5..19 of the address, xor bits 19..33: 32 bytes of code share a set and 64 a line of the
//! processor's cache, since what returns to a function often returns to another place of it soon. A newer rule for an
//! address replaces the older one; in a full set it replaces any. Who finds a rule also sees what was done before it was
//! put there (the announcement of its module).

use core::ops::RangeInclusive;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::rule::Rule;

/// How many rules are cached.
pub const ENTRIES: usize = 1 << 16;
const SET_ENTRIES: usize = 4;
const SET_BITS: u32 = (ENTRIES / SET_ENTRIES).ilog2();
const SET_MASK: usize = (1 << SET_BITS) - 1;
const ADDRESS_BITS: u32 = 47;
/// Of an address, the bits that do not tell its set.
const PLACE_BITS: u32 = 5;
const PLACE_MASK: usize = (1 << PLACE_BITS) - 1;
const TAG_BITS: u32 = ADDRESS_BITS - SET_BITS;
const TAG_MASK: u64 = (1 << TAG_BITS) - 1;

const _: () = assert!(TAG_BITS + Rule::BITS == u64::BITS);

/// Which entry of a full set is replaced next. All threads take it as it is, and count it on now and then.
static TURN: AtomicUsize = AtomicUsize::new(0);

/// The cache; its memory (512 KiB of zeroes) is brought by the caller.
#[derive(Clone, Copy, Debug)]
pub struct PcCache {
    entries: &'static [AtomicU64; ENTRIES],
}

/// An address in two parts, from which it can be had back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    set: usize,
    tag: u64,
}

impl Key {
    /// None for what is not a user-space address of 47 bits.
    #[inline(always)]
    const fn new(pc: usize) -> Option<Key> {
        if pc >> ADDRESS_BITS == 0 { Some(Key::sought(pc)) } else { None }
    }

    /// To look for: the tag of what is no such address has more bits than that of any entry.
    #[inline(always)]
    const fn sought(pc: usize) -> Key {
        // Neighbouring blocks of 512 KiB go to different places; few operations, because every step of a walk
        // waits for them.
        let block = pc >> PLACE_BITS;
        let far = block >> SET_BITS;
        Key { set: (block ^ far) & SET_MASK, tag: (far << PLACE_BITS | pc & PLACE_MASK) as u64 }
    }

    /// The address.
    const fn address(self) -> usize {
        let tag = self.tag as usize;
        let far = tag >> PLACE_BITS;
        (far << SET_BITS | (self.set ^ far) & SET_MASK) << PLACE_BITS | tag & PLACE_MASK
    }

    /// Whether a word is of this address, or empty, when its tag is 0.
    #[inline(always)]
    const fn is_of(self, word: u64) -> bool {
        word & TAG_MASK == self.tag
    }
}

impl PcCache {
    /// A cache in `entries`, all zero, or filled by another cache of the same process.
    pub const fn new(entries: &'static [AtomicU64; ENTRIES]) -> PcCache {
        PcCache { entries }
    }

    #[inline(always)]
    fn set(&self, key: Key) -> &[AtomicU64; SET_ENTRIES] {
        // A number of 14 bits, of 2^14 sets: no check is left here.
        &self.entries.as_chunks::<SET_ENTRIES>().0[key.set & SET_MASK]
    }

    /// The rule cached for return address `pc`.
    #[inline(always)]
    pub fn get(&self, pc: usize) -> Option<Rule> {
        let key = Key::sought(pc);
        for entry in self.set(key) {
            let word = entry.load(Ordering::Acquire);
            if key.is_of(word) {
                return Rule::from_bits((word >> TAG_BITS) as u32);
            }
        }
        None
    }

    /// Caches `rule` for return address `pc`.
    pub fn put(&self, pc: usize, rule: Rule) {
        let Some(key) = Key::new(pc) else { return };
        let set = self.set(key);
        let find =
            |is_it: &dyn Fn(u64) -> bool| set.iter().find(|entry| is_it(entry.load(Ordering::Relaxed)));
        let place = find(&|word| key.is_of(word)).or_else(|| find(&|word| word == 0)).unwrap_or_else(|| {
            let turn = TURN.load(Ordering::Relaxed);
            TURN.store(turn.wrapping_add(1), Ordering::Relaxed);
            &set[turn % SET_ENTRIES]
        });
        place.store(u64::from(rule.to_bits()) << TAG_BITS | key.tag, Ordering::Release);
    }

    /// Forgets the rules of some addresses: code was loaded or unloaded there.
    pub fn forget(&self, pcs: RangeInclusive<usize>) {
        if pcs.end().saturating_sub(*pcs.start()) < ENTRIES {
            return pcs.filter_map(Key::new).for_each(|key| {
                self.set(key).iter().for_each(|entry| Self::forget_if(entry, |word| key.is_of(word)));
            });
        }
        for (set, entries) in self.entries.as_chunks::<SET_ENTRIES>().0.iter().enumerate() {
            let is_one = |word| pcs.contains(&Key { set, tag: word & TAG_MASK }.address());
            entries.iter().for_each(|entry| Self::forget_if(entry, is_one));
        }
    }

    /// Leaves an entry alone that has another address's rule, or gets it this instant.
    fn forget_if(entry: &AtomicU64, is_one: impl Fn(u64) -> bool) {
        let word = entry.load(Ordering::SeqCst);
        if word != 0 && is_one(word) {
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
        fn a_key_is_the_address(pc in 0usize..1 << 47) {
            let key = Key::new(pc).unwrap();
            prop_assert_eq!(key.address(), pc);
        }
    }

    #[test]
    fn what_was_put_is_found_until_cleared() {
        let cache = PcCache::new(&MEMORY);
        for pc in [0, 1, 1 << 46, 0x7fff_ffff_ffff] {
            assert_eq!(cache.get(pc), None);
            cache.put(pc, Rule::OTHER);
            assert_eq!(cache.get(pc), Some(Rule::OTHER));
        }
        for pc in [1 << 47, 1 << 47 | 1, 1 << 63 | 1, usize::MAX] {
            cache.put(pc, Rule::END);
            assert_eq!(cache.get(pc), None, "{pc:x}");
        }
        cache.clear();
        assert_eq!(cache.get(1), None);
    }

    #[test]
    fn addresses_that_share_a_set_are_all_found() {
        static MEMORY: [AtomicU64; ENTRIES] = [const { AtomicU64::new(0) }; ENTRIES];
        let cache = PcCache::new(&MEMORY);
        let sharing = |n: usize| Key { set: 77, tag: 0xaa_aaa0 + n as u64 }.address();
        let rule = |n: usize| Rule::stack(16 + 8 * n as i64, None);
        for n in 0..SET_ENTRIES {
            cache.put(sharing(n), Rule::END);
            cache.put(sharing(n), rule(n));
        }
        (0..SET_ENTRIES).for_each(|n| assert_eq!(cache.get(sharing(n)), Some(rule(n)), "{n}"));
        // One more takes the place of one.
        cache.put(sharing(SET_ENTRIES), rule(SET_ENTRIES));
        assert_eq!(cache.get(sharing(SET_ENTRIES)), Some(rule(SET_ENTRIES)));
        let found = (0..SET_ENTRIES).filter(|&n| cache.get(sharing(n)) == Some(rule(n))).count();
        assert_eq!(found, SET_ENTRIES - 1);
        cache.forget(sharing(1)..=sharing(1));
        assert_eq!(cache.get(sharing(1)), None);
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
