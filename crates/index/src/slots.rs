//! Small numbers for the keys of a chunk: some hundred of them take turns in some ten thousand events.

use heapscribe_analyze::events::BlockChange;
use heapscribe_wire::ids::StackId;

use crate::key::{Key, SizeClass};

/// What tells keys of a chunk apart: process and thread are the same for all that its thread allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LocalKey {
    /// The stack.
    pub(crate) stack: StackId,
    /// The thread that allocated.
    pub(crate) thread: u32,
    /// The size.
    pub(crate) size: SizeClass,
}

impl LocalKey {
    /// That of a block which a thread allocated.
    #[inline(always)]
    pub(crate) fn of(block: &BlockChange, thread: u32) -> LocalKey {
        LocalKey { stack: block.stack, thread, size: SizeClass::of(block.size_bytes) }
    }

    /// The same among those of all processes.
    pub(crate) fn in_process(self, process: usize) -> Key {
        let LocalKey { stack, thread, size } = self;
        Key { process: process as u32, stack, thread, size }
    }

    #[inline(always)]
    fn hash(self) -> u64 {
        let bits = u64::from(self.stack.0) | u64::from(self.thread) << 32;
        (bits ^ u64::from(self.size.0) << 57).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// Numbers by key, in a table of open addressing.
#[derive(Debug)]
pub(crate) struct Slots {
    keys: Vec<LocalKey>,
    /// Its length is a power of two, and at least twice that of `keys`.
    table: Vec<Slot>,
}

/// A key with its number, so that one look at the table finds both.
#[derive(Clone, Copy, Debug)]
struct Slot {
    key: LocalKey,
    /// Number + 1; 0 is free.
    number: u32,
}

const FREE: Slot = Slot { key: LocalKey { stack: StackId(0), thread: 0, size: SizeClass(0) }, number: 0 };

impl Default for Slots {
    fn default() -> Self {
        Slots { keys: Vec::new(), table: vec![FREE; 1024] }
    }
}

impl Slots {
    /// The number of a key; a new one if it has none yet.
    #[inline(always)]
    pub(crate) fn number(&mut self, key: LocalKey) -> usize {
        let mask = self.table.len() - 1;
        let mut at = (key.hash() >> 32) as usize & mask;
        loop {
            let slot = &self.table[at & mask];
            if slot.key == key && slot.number != 0 {
                return slot.number as usize - 1;
            }
            if slot.number == 0 {
                return self.insert(key, at & mask);
            }
            at += 1;
        }
    }

    #[cold]
    fn insert(&mut self, key: LocalKey, at: usize) -> usize {
        self.keys.push(key);
        self.table[at] = Slot { key, number: self.keys.len() as u32 };
        if self.keys.len() * 2 > self.table.len() {
            self.grow();
        }
        self.keys.len() - 1
    }

    fn grow(&mut self) {
        let len = self.table.len() * 2;
        self.table.clear();
        self.table.resize(len, FREE);
        for (key, number) in self.keys.iter().zip(1..) {
            let mut at = (key.hash() >> 32) as usize & (len - 1);
            while self.table[at].number != 0 {
                at = (at + 1) & (len - 1);
            }
            self.table[at] = Slot { key: *key, number };
        }
    }

    /// The keys, by number.
    pub(crate) fn keys(&self) -> &[LocalKey] {
        &self.keys
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.table.fill(FREE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_one_number() {
        let mut slots = Slots::default();
        let key = |n: u32| LocalKey { stack: StackId(n / 3), thread: n % 3, size: SizeClass((n % 7) as u8) };
        for round in 0..3 {
            for n in 0..5_000 {
                assert_eq!(slots.number(key(n)), n as usize, "round {round}");
            }
        }
        assert_eq!((slots.keys().len(), slots.keys()[4_999]), (5_000, key(4_999)));
        slots.clear();
        assert_eq!(slots.number(key(77)), 0);
    }
}
