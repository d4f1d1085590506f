//! A thread's cached stacks: its own, others that it runs on now and then, and room for a walk in progress.
#![allow(unsafe_code)]

use heapscribe_wire::limits::WALK_DEPTH_MAX;

use super::other_stacks::OtherStacks;
use crate::platform::lock::{Held, Lock};
use crate::platform::memory;
use crate::unwind::cached::CachedStack;
use crate::unwind::cached_path::CachedPaths;
use crate::unwind::new_frame::NewFrame;
use crate::unwind::{Frame, PathHash};

/// Frames that a stack has room for at first.
const FRAMES_AT_FIRST: usize = 256;
/// By how much more a stack gets room for when that is not enough, up to [`WALK_DEPTH_MAX`]: what is not used of it is
/// address space only, and few steps leave little memory behind.
const GROWTH: usize = 16;

/// The next larger room.
fn next_room(frames: usize) -> Option<usize> {
    (frames < WALK_DEPTH_MAX).then(|| (frames * GROWTH).min(WALK_DEPTH_MAX))
}
/// Which of a thread's cached stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Index {
    /// Its own.
    Own,
    /// One of the others.
    Other(usize),
}

/// The memory.
#[derive(Debug)]
pub(crate) struct CachedStacks {
    /// The thread's own.
    pub own: CachedStack,
    /// The other stacks that it ran on last.
    pub others: OtherStacks,
    /// Paths to the own stack's cached frames.
    pub paths: &'static mut CachedPaths,
    /// Room for new frames of an incremental walk.
    pub new: &'static mut [NewFrame],
    /// Room for a walk that is not cached, the leaf first.
    pub frames: &'static mut [Frame],
    /// The hashes of its paths.
    pub hashes: &'static mut [PathHash],
}

/// Room for a walk in progress.
struct Room {
    new: &'static mut [NewFrame],
    frames: &'static mut [Frame],
    hashes: &'static mut [PathHash],
}

impl Room {
    fn new(frames: usize, held: &Held<'_>) -> Option<Room> {
        let bytes = frames * (size_of::<NewFrame>() + size_of::<Frame>() + size_of::<PathHash>());
        let new = memory::alloc(bytes, held)?.as_ptr().cast::<NewFrame>();
        // SAFETY: the parts lie one behind the other in new, zeroed memory of that size, aligned to 64, which
        // stays and is this room's alone; they are integers, for which zero is valid.
        unsafe {
            let leaf_first = new.add(frames).cast::<Frame>();
            let hashes = leaf_first.add(frames).cast::<PathHash>();
            Some(Room {
                new: core::slice::from_raw_parts_mut(new, frames),
                frames: core::slice::from_raw_parts_mut(leaf_first, frames),
                hashes: core::slice::from_raw_parts_mut(hashes, frames),
            })
        }
    }
}

impl CachedStacks {
    /// Memory for a new thread. `None` when there is none.
    pub(crate) fn new(held: &Held<'_>) -> Option<CachedStacks> {
        let paths = memory::alloc(size_of::<CachedPaths>(), held)?;
        // SAFETY: new, zeroed memory of that size, aligned to 64, which stays and is used by nobody else; paths
        // are integers, for which zero is valid.
        let paths = unsafe { paths.cast().as_mut() };
        let Room { new, frames, hashes } = Room::new(FRAMES_AT_FIRST, held)?;
        let own = CachedStack::new(FRAMES_AT_FIRST, held)?;
        Some(CachedStacks { own, others: OtherStacks::default(), paths, new, frames, hashes })
    }

    /// Forgets all: for a thread that begins.
    pub(crate) fn forget(&mut self) {
        self.own.forget();
        self.paths.forget();
        self.others.forget();
    }

    /// Makes more room for a stack, of which nothing is cached then. False when there is enough for the deepest, or
    /// no memory.
    #[cold]
    pub(crate) fn grow(&mut self, index: Index, lock: &Lock) -> bool {
        let Some(frames) = self.stack(index).and_then(|stack| next_room(stack.room())) else { return false };
        if self.new.len() < frames && !self.grow_room(frames, lock) {
            return false;
        }
        let grown = lock.hold().and_then(|held| CachedStack::new(frames, &held));
        match (grown, self.stack(index)) {
            (Some(grown), Some(stack)) => *stack = grown,
            _ => return false,
        }
        true
    }

    /// Makes more room for a walk that is not cached. False when there is enough for the deepest, or no memory.
    #[cold]
    pub(crate) fn grow_walk(&mut self, lock: &Lock) -> bool {
        next_room(self.frames.len()).is_some_and(|frames| self.grow_room(frames, lock))
    }

    fn grow_room(&mut self, frames: usize, lock: &Lock) -> bool {
        let Some(room) = lock.hold().and_then(|held| Room::new(frames, &held)) else { return false };
        (self.new, self.frames, self.hashes) = (room.new, room.frames, room.hashes);
        true
    }

    /// One of the stacks.
    pub(crate) fn get(&self, index: Index) -> Option<&CachedStack> {
        match index {
            Index::Own => Some(&self.own),
            Index::Other(index) => Some(&self.others.get(index)?.stack),
        }
    }

    /// One of the stacks, and the room for the frames of a walk.
    pub(crate) fn stack_and_frames(&mut self, index: Index) -> Option<(&CachedStack, &mut [Frame])> {
        let CachedStacks { own, others, frames, .. } = self;
        let stack = match index {
            Index::Own => &*own,
            Index::Other(index) => &others.get(index)?.stack,
        };
        Some((stack, frames))
    }

    /// One of the stacks, and the room for hashes of its path.
    pub(crate) fn stack_and_hashes(&mut self, index: Index) -> Option<(&mut CachedStack, &mut [PathHash])> {
        let stack = match index {
            Index::Own => &mut self.own,
            Index::Other(index) => &mut self.others.get_mut(index)?.stack,
        };
        Some((stack, self.hashes))
    }

    /// One of the stacks, to be changed.
    pub(crate) fn stack(&mut self, index: Index) -> Option<&mut CachedStack> {
        match index {
            Index::Own => Some(&mut self.own),
            Index::Other(index) => Some(&mut self.others.get_mut(index)?.stack),
        }
    }
}
