//! The stacks that an events block has named so far, each with the last size of a block of it.

/// The stacks of an events block, numbered from 1 in the order in which they are named first.
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
    /// Forgets all, keeps the memory.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.last_new = 0;
    }

    /// The stack of a number, from 1.
    #[inline(always)]
    pub(super) fn get(&mut self, number: u64) -> Option<&mut Stack> {
        self.all.get_mut((number as usize).wrapping_sub(1))
    }

    /// Names a new stack, that far from the one before it, which gets the next number; `None` when that is
    /// no stack.
    pub(super) fn add(&mut self, distance: i64) -> Option<&mut Stack> {
        let stack = i64::from(self.last_new).checked_add(distance)?;
        self.last_new = u32::try_from(stack).ok()?;
        self.all.push(Stack { stack: self.last_new, size_bytes: 0 });
        self.all.last_mut()
    }
}

/// Slots of the table: much more than one chunk can name.
const SLOTS: usize = 1 << 15;
const MASK: usize = SLOTS - 1;
/// Stacks that may be named, so that the table never fills up.
pub(super) const STACKS_MAX: u32 = SLOTS as u32 / 4 * 3;

/// What the encoder knows of a stack.
#[derive(Clone, Copy, Default)]
pub(super) struct Slot {
    stack: u32,
    /// The events block that it was filled for, so that beginning a new one costs nothing.
    round: u32,
    pub(super) number: u32,
    pub(super) size_bytes: u64,
}

/// From a stack to its number and last size: what [`StackTable`] tells, the other way round.
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
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.round = self.round.wrapping_add(1);
        (self.len, self.last_new) = (0, 0);
        if self.round == 0 {
            *self = StackNumbers::default();
        }
    }

    /// How many were named.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// What is known of a stack, and when it is new, and has its number only now, how far it is from the
    /// new one before it.
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
