//! The stacks that an events block has used so far, each with the size of its last block.

/// The decoder's side: the stacks of an events block, numbered from 1 in the order of their first use.
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

/// Slots of the hash table: many more than one chunk can use.
const SLOTS: usize = 1 << 15;
const MASK: usize = SLOTS - 1;
/// Stacks that may be added, so that the table never fills up.
pub(super) const STACKS_MAX: u32 = SLOTS as u32 / 4 * 3;

/// A slot of the encoder's hash table.
#[derive(Clone, Copy, Default)]
pub(super) struct Slot {
    stack: u32,
    /// The events block that it was filled for, so that beginning a new one costs nothing.
    round: u32,
    pub(super) number: u32,
    pub(super) size_bytes: u64,
}

/// The encoder's side: from a stack to its number and last size, the inverse of [`StackTable`].
pub(super) struct StackNumbers {
    slots: Box<[Slot]>,
    round: u32,
    len: u32,
    last_new: u32,
}

impl Default for StackNumbers {
    fn default() -> Self {
        StackNumbers { slots: vec![Slot::default(); SLOTS].into(), round: 1, len: 0, last_new: 0 }
    }
}

impl StackNumbers {
    /// Removes all.
    pub(super) fn clear(&mut self) {
        self.round = self.round.wrapping_add(1);
        (self.len, self.last_new) = (0, 0);
        if self.round == 0 {
            *self = StackNumbers::default();
        }
    }

    /// How many stacks there are.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// The slot of a stack; one that is new gets its number now, and its distance from the new one before it
    /// is returned as well.
    #[inline(always)]
    pub(super) fn number(&mut self, stack: u32) -> (&mut Slot, Option<i64>) {
        let mut at = (stack.wrapping_mul(0x9e37_79b1) >> 17) as usize;
        while self.slots[at & MASK].round == self.round && self.slots[at & MASK].stack != stack {
            at += 1;
        }
        let slot = &mut self.slots[at & MASK];
        if slot.round == self.round {
            return (slot, None);
        }
        self.len += 1;
        *slot = Slot { stack, round: self.round, number: self.len, size_bytes: 0 };
        let distance = i64::from(stack) - i64::from(self.last_new);
        self.last_new = stack;
        (slot, Some(distance))
    }
}
