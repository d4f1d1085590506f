//! The stacks that an events block has used so far, each with the size of its last block.

/// The stacks of an events block, numbered from 1 in the order of their first use.
#[derive(Debug, Default)]
pub(super) struct StackTable {
    all: Vec<Stack>,
    last_new: u32,
}

/// A stack, and the last size of a block of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stack {
    pub(super) stack: u32,
    pub(super) size_bytes: u64,
}

impl StackTable {
    /// Removes all, keeps the memory.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.last_new = 0;
    }

    /// The stack of a number, from 1.
    #[inline(always)]
    pub(super) fn get(&mut self, number: u64) -> Option<&mut Stack> {
        self.all.get_mut((number as usize).wrapping_sub(1))
    }

    /// Adds a new stack at this distance from the one before it, which gets the next number; `None` when the
    /// result is no stack.
    pub(super) fn add(&mut self, distance: i64) -> Option<&mut Stack> {
        let stack = i64::from(self.last_new).checked_add(distance)?;
        self.last_new = u32::try_from(stack).ok()?;
        self.all.push(Stack { stack: self.last_new, size_bytes: 0 });
        self.all.last_mut()
    }
}

/// Places of the hash table: many more than one chunk can use.
const PLACES: usize = 1 << 15;
const MASK: usize = PLACES - 1;
/// Stacks that may be added, so that the table never fills up, and each number has 16 bits.
pub(super) const STACKS_MAX: u32 = PLACES as u32 / 4 * 3;

/// The encoder's side: from a stack to its number in the [`StackTable`] of the decoder, and its last size.
///
/// Numbers and stacks are apart, since a chunk uses few of so many places: with both in 24 bytes a place each look was a
/// miss of the cache, a third of what it took to encode.
pub(super) struct StackNumbers {
    /// The number of a stack, by its hash; 0: none.
    numbers: Box<[u16; PLACES]>,
    /// What the decoder will have.
    table: StackTable,
}

impl Default for StackNumbers {
    fn default() -> Self {
        StackNumbers { numbers: Box::new([0; PLACES]), table: StackTable::default() }
    }
}

/// What the encoder knows of a stack.
pub(super) struct Numbered<'a> {
    /// Its number, from 1.
    pub(super) number: u16,
    /// The size of its last block.
    pub(super) size_bytes: &'a mut u64,
    /// Of one that is new, its distance from the new one before it.
    pub(super) new: Option<i64>,
}

impl StackNumbers {
    /// Removes all.
    pub(super) fn clear(&mut self) {
        self.numbers.fill(0);
        self.table.clear();
    }

    /// How many stacks there are.
    pub(super) fn len(&self) -> u32 {
        self.table.all.len() as u32
    }

    /// The number of a stack; one that is new gets it now.
    #[inline(always)]
    pub(super) fn number(&mut self, stack: u32) -> Numbered<'_> {
        let StackNumbers { numbers, table } = self;
        let mut at = (stack.wrapping_mul(0x9e37_79b1) >> 17) as usize;
        while table.get(u64::from(numbers[at & MASK])).is_some_and(|known| known.stack != stack) {
            at += 1;
        }
        let number = &mut numbers[at & MASK];
        let new = (*number == 0).then(|| {
            let distance = i64::from(stack) - i64::from(table.last_new);
            table.add(distance);
            *number = table.all.len() as u16;
            distance
        });
        Numbered { number: *number, size_bytes: &mut table.all[usize::from(*number) - 1].size_bytes, new }
    }
}
