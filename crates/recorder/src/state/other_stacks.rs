//! The stacks that a thread runs on besides its own: fibers, coroutines, pieces of a split one, a signal's. Programs have
//! hundreds of them, in mappings of their own or side by side in one, and a thread goes from one to the next at each call.
//!
//! A stack is known by its *top*, the slot of its outermost frame, which stays as long as the stack is used: the one around
//! a stack pointer is that with the lowest top above it.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;

use crate::platform::lock::Lock;
use crate::platform::memory;
use crate::unwind::StackRange;
use crate::unwind::cached::CachedStack;

/// Stacks that are cached. A newer one takes the place of the oldest.
const STACKS_MAX: usize = 1024;
/// Frames that one has room for at first.
const FRAMES_AT_FIRST: usize = 64;
/// The top of a stack of which nothing is known.
const NO_TOP: usize = 0;

/// A stack that a thread runs on now and then, and where it is.
#[derive(Debug)]
pub(crate) struct OtherStack {
    /// Its mapping, or the part of it that is not the thread's own stack.
    pub range: StackRange,
    /// Its last walk.
    pub stack: CachedStack,
    top: usize,
}

#[derive(Clone, Copy, Debug)]
struct Top {
    address: usize,
    index: usize,
}

/// What is behind `used` and `known` was never written.
struct Memory {
    used: usize,
    known: usize,
    /// Those of stacks of which something is known, the lowest first.
    tops: [Top; STACKS_MAX],
    stacks: [MaybeUninit<OtherStack>; STACKS_MAX],
}

impl core::fmt::Debug for Memory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Memory").field("used", &self.used).finish_non_exhaustive()
    }
}

impl Memory {
    fn tops(&self) -> &[Top] {
        self.tops.get(..self.known).unwrap_or_default()
    }

    /// Where the lowest top at or above an address is, or would be.
    fn place(&self, address: usize) -> usize {
        self.tops().partition_point(|top| top.address < address)
    }

    fn get(&self, index: usize) -> Option<&OtherStack> {
        let stack = self.stacks.get(..self.used)?.get(index)?;
        // SAFETY: those before `used` were written.
        Some(unsafe { stack.assume_init_ref() })
    }

    fn get_mut(&mut self, index: usize) -> Option<&mut OtherStack> {
        let stack = self.stacks.get_mut(..self.used)?.get_mut(index)?;
        // SAFETY: those before `used` were written.
        Some(unsafe { stack.assume_init_mut() })
    }

    /// Notes the top of a stack; of two with the same one it is the newer that is there.
    fn set_top(&mut self, index: usize, address: usize) {
        let Some(other) = self.get_mut(index).filter(|other| other.top != address) else { return };
        let before = core::mem::replace(&mut other.top, address);
        self.remove_top(before);
        if address == NO_TOP {
            return;
        }
        if let Some(replaced) = self.remove_top(address).and_then(|index| self.get_mut(index)) {
            replaced.top = NO_TOP;
        }
        let place = self.place(address);
        self.tops.copy_within(place..self.known, place + 1);
        self.known += 1;
        if let Some(top) = self.tops.get_mut(place) {
            *top = Top { address, index };
        }
    }

    fn remove_top(&mut self, address: usize) -> Option<usize> {
        let place = self.place(address);
        let top = *self.tops().get(place).filter(|top| top.address == address)?;
        self.tops.copy_within(place + 1..self.known, place);
        self.known -= 1;
        Some(top.index)
    }
}

/// The stacks; they take memory when there is one.
#[derive(Debug, Default)]
pub(crate) struct OtherStacks {
    memory: Option<&'static mut Memory>,
    /// The one that is to be replaced next.
    oldest: usize,
}

impl OtherStacks {
    /// Forgets all: for a thread that begins.
    pub(crate) fn forget(&mut self) {
        let Some(memory) = &mut self.memory else { return };
        memory.known = 0;
        for index in 0..memory.used {
            if let Some(other) = memory.get_mut(index) {
                other.stack.forget();
                other.top = NO_TOP;
            }
        }
    }

    /// The stack around `sp` when it is known, and may be used.
    pub(crate) fn find(&self, sp: usize, may_be_used: impl Fn(usize) -> bool) -> Option<usize> {
        let memory = self.memory.as_ref()?;
        let mut above = memory.tops().get(memory.place(sp.wrapping_sub(8))..)?.iter();
        above.find(|top| may_be_used(top.index)).map(|top| top.index)
    }

    /// A stack.
    pub(crate) fn get(&self, index: usize) -> Option<&OtherStack> {
        self.memory.as_ref()?.get(index)
    }

    /// A stack, to be changed.
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut OtherStack> {
        self.memory.as_mut()?.get_mut(index)
    }

    /// The outermost place of a stack that is known to be used.
    pub(crate) fn top(&self, index: usize) -> Option<usize> {
        let other = self.get(index)?;
        let cached = other.stack.slot(0).unwrap_or(NO_TOP);
        Some(other.top.max(cached)).filter(|top| *top != NO_TOP)
    }

    /// A walk left a stack for another: notes its top.
    pub(crate) fn left_at(&mut self, index: usize, top: usize) {
        if let Some(memory) = &mut self.memory {
            memory.set_top(index, top);
        }
    }

    /// A stack was walked: notes its top.
    pub(crate) fn walked(&mut self, index: usize) {
        let top = self.get(index).and_then(|other| other.stack.slot(0)).unwrap_or(NO_TOP);
        self.left_at(index, top);
    }

    /// Room for another stack, in place of the oldest. `None` when there is no memory.
    #[cold]
    pub(crate) fn add(&mut self, range: StackRange, lock: &Lock) -> Option<usize> {
        let index = self.oldest;
        let memory = match &mut self.memory {
            Some(memory) => memory,
            none => none.insert(new_memory(lock)?),
        };
        memory.set_top(index, NO_TOP);
        match memory.get_mut(index) {
            Some(other) => {
                other.stack.forget();
                other.range = range;
            }
            None => {
                let stack = CachedStack::new(FRAMES_AT_FIRST, &lock.hold()?)?;
                memory.stacks.get_mut(index)?.write(OtherStack { range, stack, top: NO_TOP });
                memory.used = index + 1;
            }
        }
        self.oldest = (index + 1) % STACKS_MAX;
        Some(index)
    }
}

fn new_memory(lock: &Lock) -> Option<&'static mut Memory> {
    let place = memory::alloc(size_of::<Memory>(), &lock.hold()?)?.cast::<Memory>();
    // SAFETY: new, zeroed memory of that size, aligned to 64, which stays and is used by nobody else; zero is valid for all
    // of it, because no stack is used.
    Some(unsafe { &mut *place.as_ptr() })
}
