//! The stacks that an events block has named so far, each with the last size of a block of it.

/// The stacks of an events block, numbered from 1 in the order in which they are named first.
#[derive(Debug, Default)]
pub(super) struct Known {
    all: Vec<Stack>,
    last_new: u32,
}

/// A stack, and the last size of a block of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stack {
    pub(super) stack: u32,
    pub(super) size_bytes: u64,
}

impl Known {
    /// Forgets all, keeps the memory.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.last_new = 0;
    }

    /// The stack of a number, from 1.
    #[inline(always)]
    pub(super) fn numbered(&mut self, number: u64) -> Option<&mut Stack> {
        self.all.get_mut((number as usize).wrapping_sub(1))
    }

    /// How far a new stack is from the one before it.
    pub(super) fn distance(&self, stack: u32) -> i64 {
        i64::from(stack) - i64::from(self.last_new)
    }

    /// Names a new stack, that far from the one before it, which gets the next number; `None` when that is
    /// no stack.
    pub(super) fn name(&mut self, distance: i64) -> Option<&mut Stack> {
        let stack = i64::from(self.last_new).checked_add(distance)?;
        self.last_new = u32::try_from(stack).ok()?;
        self.all.push(Stack { stack: self.last_new, size_bytes: 0 });
        self.all.last_mut()
    }

    /// How many were named.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}

/// Slots of the table: much more than one chunk can name.
const SLOTS: usize = 1 << 15;
const MASK: usize = SLOTS - 1;

/// From a stack to its number. A slot is the stack, its number and the events block that it was filled
/// for, so that beginning a new one costs nothing.
pub(super) struct Numbers {
    slots: Vec<(u32, u32, u32)>,
    round: u32,
}

impl Default for Numbers {
    fn default() -> Self {
        Numbers { slots: vec![(0, 0, 0); SLOTS], round: 1 }
    }
}

impl Numbers {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            *self = Numbers::default();
        }
    }

    /// The number of a stack; 0 when it had none, and now has `next`. When the table is nearly full it has
    /// none the next time either.
    #[inline(always)]
    pub(super) fn number(&mut self, stack: u32, next: usize) -> u32 {
        let mut at = (stack.wrapping_mul(0x9e37_79b1) >> 16) as usize;
        loop {
            let (of, number, round) = self.slots[at & MASK];
            if round != self.round {
                if next < SLOTS / 4 * 3 {
                    self.slots[at & MASK] = (stack, next as u32, self.round);
                }
                return 0;
            }
            if of == stack {
                return number;
            }
            at += 1;
        }
    }
}
