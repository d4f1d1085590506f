//! The stacks that a thread runs on besides its own: fibers, coroutines, a signal's. Programs have hundreds of them, in
//! mappings of their own or side by side in one, and a thread goes from one to the next at each call.
//!
//! A stack is known by its *top*, the slot of its outermost frame, which stays as long as the stack is used: the one around
//! a stack pointer is that with the lowest top above it.
#![allow(unsafe_code)]

use crate::platform::lock::Lock;
use crate::platform::memory;
use crate::unwind::StackRange;
use crate::unwind::cached::CachedStack;

/// Stacks that are cached. A newer one takes the place of the oldest.
const STACKS_MAX: usize = 256;
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
    /// Whether walks leave it for another stack; those are not cached.
    pub is_left: bool,
}

#[derive(Debug)]
struct Memory {
    tops: [usize; STACKS_MAX],
    stacks: [Option<OtherStack>; STACKS_MAX],
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
        if let Some(memory) = &mut self.memory {
            memory.tops = [NO_TOP; STACKS_MAX];
            memory.stacks.iter_mut().flatten().for_each(|other| other.stack.forget());
        }
    }

    /// The stack around `sp` when it is known.
    pub(crate) fn find(&self, sp: usize) -> Option<usize> {
        let memory = self.memory.as_ref()?;
        let tops = memory.tops.iter().enumerate().filter(|(_, top)| **top >= sp.wrapping_sub(8));
        let (index, _) = tops.min_by_key(|(_, top)| **top)?;
        memory.stacks.get(index)?.as_ref().filter(|other| other.range.contains(sp))?;
        Some(index)
    }

    /// A stack.
    pub(crate) fn get(&mut self, index: usize) -> Option<&mut OtherStack> {
        self.memory.as_mut()?.stacks.get_mut(index)?.as_mut()
    }

    /// The outermost place of a stack that is known to be used.
    pub(crate) fn top(&mut self, index: usize) -> Option<usize> {
        let noted = *self.memory.as_ref()?.tops.get(index)?;
        let cached = self.get(index)?.stack.slot(0).unwrap_or(NO_TOP);
        Some(noted.max(cached)).filter(|top| *top != NO_TOP)
    }

    /// A walk left a stack for another, which is not cached: notes its top.
    pub(crate) fn left_at(&mut self, index: usize, top: usize) {
        let Some(memory) = &mut self.memory else { return };
        if let (Some(place), Some(Some(other))) = (memory.tops.get_mut(index), memory.stacks.get_mut(index)) {
            (*place, other.is_left) = (top, true);
        }
    }

    /// A stack was walked: notes its top.
    pub(crate) fn walked(&mut self, index: usize) {
        let top = self.get(index).and_then(|other| other.stack.slot(0)).unwrap_or(NO_TOP);
        if let Some(place) = self.memory.as_mut().and_then(|memory| memory.tops.get_mut(index)) {
            *place = top;
        }
    }

    /// Room for another stack, in place of the oldest. `None` when there is no memory.
    #[cold]
    pub(crate) fn add(&mut self, range: StackRange, lock: &Lock) -> Option<usize> {
        let index = self.oldest;
        let memory = match &mut self.memory {
            Some(memory) => memory,
            none => none.insert(new_memory(lock)?),
        };
        match memory.stacks.get_mut(index)? {
            Some(other) => {
                other.stack.forget();
                (other.range, other.is_left) = (range, false);
            }
            place => {
                let stack = CachedStack::new(FRAMES_AT_FIRST, &lock.hold()?)?;
                *place = Some(OtherStack { range, stack, is_left: false })
            }
        }
        *memory.tops.get_mut(index)? = NO_TOP;
        self.oldest = (index + 1) % STACKS_MAX;
        Some(index)
    }
}

fn new_memory(lock: &Lock) -> Option<&'static mut Memory> {
    let place = memory::alloc(size_of::<Memory>(), &lock.hold()?)?.cast::<Memory>();
    // SAFETY: new memory of that size, aligned to 64, which stays and is used by nobody else; each of its parts is
    // written before it is used as one.
    unsafe {
        let memory = place.as_ptr();
        (&raw mut (*memory).tops).write([NO_TOP; STACKS_MAX]);
        let stacks = (&raw mut (*memory).stacks).cast::<Option<OtherStack>>();
        (0..STACKS_MAX).for_each(|index| stacks.add(index).write(None));
        Some(&mut *memory)
    }
}
