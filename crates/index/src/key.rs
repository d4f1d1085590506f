//! What figures are kept apart by: process, stack, thread of birth and class of size. A question that asks for one of
//! them takes the keys that have it.

use crate::hash::Table;

use heapscribe_wire::ids::StackId;

/// Blocks that are counted together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    /// Index of the process.
    pub process: u32,
    /// The stack that allocated them.
    pub stack: StackId,
    /// The thread that allocated them.
    pub thread: u32,
    /// Their sizes.
    pub size: SizeClass,
}

/// Says which keys are wanted.
pub type KeyFilter<'a> = &'a (dyn Fn(&Key) -> bool + Sync);

/// Sizes between two powers of two: 0 is the size 0, and `n` the sizes with `n` significant bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SizeClass(pub u8);

impl SizeClass {
    /// The class of a size.
    #[inline(always)]
    pub const fn of(size_bytes: u64) -> SizeClass {
        SizeClass((u64::BITS - size_bytes.leading_zeros()) as u8)
    }

    /// Any size: where memory did not suffice to keep sizes apart.
    pub const ANY: SizeClass = SizeClass(u8::MAX);

    /// Its smallest size, bytes.
    pub const fn min_bytes(self) -> u64 {
        match self.0 {
            1..=64 => 1 << (self.0 - 1),
            _ => 0,
        }
    }
}

/// Number of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KeyId(pub u32);

impl Key {
    /// Any thread: where memory did not suffice to keep threads apart.
    pub const ANY_THREAD: u32 = u32::MAX;

    /// The key, and what it is counted under where there are too many keys, coarser and coarser: of any size, of any
    /// thread, of an unknown stack.
    fn coarser(self) -> [Key; 4] {
        let any_size = Key { size: SizeClass::ANY, ..self };
        let any_thread = Key { thread: Key::ANY_THREAD, ..any_size };
        [self, any_size, any_thread, Key { stack: StackId::UNKNOWN, ..any_thread }]
    }
}

/// Numbers of keys, in the order in which they were first met. From a limit on, new ones are counted under coarser
/// ones; those that are known stay as they are, so that all blocks of a key are in one place.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    keys: Vec<Key>,
    numbers: Table<Key, KeyId>,
    max: usize,
}

impl Keys {
    /// None yet; and about so many at most.
    pub(crate) fn new(max: usize) -> Keys {
        Keys { keys: Vec::new(), numbers: Table::default(), max }
    }

    /// Those of an index, by number.
    pub(crate) fn of(keys: Vec<Key>) -> Keys {
        let numbers: Table<Key, KeyId> =
            keys.iter().enumerate().map(|(n, key)| (*key, KeyId(n as u32))).collect();
        Keys { keys, numbers, max: usize::MAX }
    }

    /// The number of a key, or of the one that it is counted under; a new one if it has none yet.
    pub(crate) fn number(&mut self, key: Key) -> KeyId {
        for (level, key) in key.coarser().into_iter().enumerate() {
            if let Some(number) = self.numbers.get(&key) {
                return *number;
            }
            // Each level has a quarter more room; the last one takes all that is left.
            if level == 3 || self.keys.len() < self.max.saturating_add(self.max / 4 * level) {
                return self.insert(key);
            }
        }
        self.insert(key)
    }

    fn insert(&mut self, key: Key) -> KeyId {
        let number = KeyId(self.keys.len() as u32);
        self.keys.push(key);
        self.numbers.insert(key, number);
        number
    }

    /// The number of a key, or of the one that it is counted under.
    pub(crate) fn find(&self, key: Key) -> Option<KeyId> {
        key.coarser().iter().find_map(|key| self.numbers.get(key)).copied()
    }

    /// All keys, by number.
    pub(crate) fn all(&self) -> &[Key] {
        &self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_the_sizes_of_as_many_bits() {
        for (size, class, min) in
            [(0, 0, 0), (1, 1, 1), (2, 2, 2), (3, 2, 2), (4096, 13, 4096), (u64::MAX, 64, 1 << 63)]
        {
            assert_eq!((SizeClass::of(size).0, SizeClass::of(size).min_bytes()), (class, min), "{size}");
        }
    }

    #[test]
    fn keys_that_are_too_many_are_counted_under_coarser_ones() {
        let mut keys = Keys::new(4);
        let key = |n: u32| Key {
            process: 0,
            stack: StackId(1 + n / 8),
            thread: n / 4 % 2,
            size: SizeClass(1 + n as u8 % 4),
        };
        let numbers: Vec<u32> = (0..64).map(|n| keys.number(key(n)).0).collect();
        assert_eq!(numbers[..6], [0, 1, 2, 3, 4, 4]); // the second thread's sizes are one
        assert_eq!(keys.all()[4], Key { size: SizeClass::ANY, ..key(4) });
        assert_eq!(*numbers.last().unwrap(), keys.all().len() as u32 - 1);
        assert!(keys.all().len() <= 8, "{:?}", keys.all());
        for n in 0..64 {
            assert_eq!(
                (keys.number(key(n)).0, keys.find(key(n)).unwrap().0),
                (numbers[n as usize], numbers[n as usize])
            );
        }
    }
}
