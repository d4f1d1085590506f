//! What figures are kept apart by: process, stack, thread of birth and class of size. A question that asks for one of
//! them takes the keys that have it.

use std::collections::HashMap;

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

/// Sizes between two powers of two: 0 is the size 0, and `n` the sizes with `n` significant bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SizeClass(pub u8);

impl SizeClass {
    /// The class of a size.
    #[inline(always)]
    pub const fn of(size_bytes: u64) -> SizeClass {
        SizeClass((u64::BITS - size_bytes.leading_zeros()) as u8)
    }

    /// Its smallest size, bytes.
    pub const fn min_bytes(self) -> u64 {
        if self.0 == 0 { 0 } else { 1 << (self.0 - 1) }
    }
}

/// Number of a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct KeyId(pub u32);

/// Numbers of keys, in the order in which they were first met.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    keys: Vec<Key>,
    numbers: HashMap<Key, KeyId>,
}

impl Keys {
    /// The number of a key; a new one if it has none yet.
    pub(crate) fn number(&mut self, key: Key) -> KeyId {
        *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            KeyId(self.keys.len() as u32 - 1)
        })
    }

    /// All keys, by number.
    pub fn all(&self) -> &[Key] {
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
}
