//! A thread's cached stacks: its own, some others - a signal's, a
//! fiber's - that it runs on now and then, and room for a walk in progress.
#![allow(unsafe_code)]

use heapscribe_wire::limits::DEPTH_MAX;

use crate::platform::lock::{Held, Lock};
use crate::platform::memory;
use crate::unwind::cached::CachedStack;
use crate::unwind::cached_path::{self, CachedPath};
use crate::unwind::new_frame::NewFrame;
use crate::unwind::{Frame, PathHash, StackRange};

/// Frames that a stack has room for at first; deeper ones get room for [`DEPTH_MAX`].
const FRAMES_AT_FIRST: usize = 256;
/// Other stacks that are cached.
const OTHERS: usize = 4;

/// A stack that a thread runs on now and then, and where it is.
#[derive(Debug)]
pub(crate) struct OtherStack {
    /// Its mapping.
    pub range: StackRange,
    /// Its last walk.
    pub stack: CachedStack,
}

impl OtherStack {
    /// Another stack is there now, or this one has other bounds.
    pub(crate) fn move_to(&mut self, range: StackRange) {
        self.stack.forget();
        self.range = range;
    }
}

/// The memory.
#[derive(Debug)]
pub(crate) struct CachedStacks {
    /// The thread's own.
    pub own: CachedStack,
    /// The other stacks that it ran on last.
    pub others: [Option<OtherStack>; OTHERS],
    /// The one of those that is to be forgotten next.
    oldest: usize,
    /// Paths to the own stack's cached frames.
    pub paths: &'static mut [CachedPath; cached_path::ENTRIES],
    /// Room for new frames of an incremental walk.
    pub new: &'static mut [NewFrame],
    /// Room for a walk that is not cached, the leaf first.
    pub frames: &'static mut [Frame],
    /// The hashes of its paths.
    pub hashes: &'static mut [PathHash],
}

const fn bytes(frames: usize) -> usize {
    CachedStack::bytes(frames) + frames * (size_of::<NewFrame>() + size_of::<Frame>() + size_of::<PathHash>())
}

/// What grows with the depth of a thread's stacks.
struct Room {
    own: CachedStack,
    new: &'static mut [NewFrame],
    frames: &'static mut [Frame],
    hashes: &'static mut [PathHash],
}

impl Room {
    fn new(frames: usize, held: &Held<'_>) -> Option<Room> {
        let own = memory::alloc(bytes(frames), held)?.as_ptr();
        // SAFETY: the parts lie one behind the other in new, zeroed memory of that size, aligned to 64, which
        // stays and is this room's alone; they are integers, for which zero is valid.
        unsafe {
            let new = own.add(CachedStack::bytes(frames)).cast::<NewFrame>();
            let leaf_first = new.add(frames).cast::<Frame>();
            let hashes = leaf_first.add(frames).cast::<PathHash>();
            Some(Room {
                own: CachedStack::over(own, frames),
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
        let paths = memory::alloc(size_of::<[CachedPath; cached_path::ENTRIES]>(), held)?;
        // SAFETY: new, zeroed memory of that size, aligned to 64, which stays and is used by nobody else; paths
        // are integers, for which zero is valid.
        let paths = unsafe { paths.cast().as_mut() };
        let Room { own, new, frames, hashes } = Room::new(FRAMES_AT_FIRST, held)?;
        Some(CachedStacks { own, others: [const { None }; OTHERS], oldest: 0, paths, new, frames, hashes })
    }

    /// Forgets all: for a thread that begins.
    pub(crate) fn forget(&mut self) {
        self.own.forget();
        self.paths.iter_mut().for_each(CachedPath::forget);
        let nowhere = StackRange { lo: 0, hi: 0 };
        self.others.iter_mut().flatten().for_each(|other| other.move_to(nowhere));
    }

    /// Makes room for the deepest stacks. False when it was there, or there is no memory.
    #[cold]
    pub(crate) fn grow(&mut self, lock: &Lock) -> bool {
        if self.new.len() >= DEPTH_MAX {
            return false;
        }
        let Some(held) = lock.hold() else { return false };
        let Some(room) = Room::new(DEPTH_MAX, &held) else { return false };
        self.own = room.own;
        (self.new, self.frames, self.hashes) = (room.new, room.frames, room.hashes);
        true
    }

    /// The cached stack around `sp`.
    pub(crate) fn find_other(&self, sp: usize) -> Option<usize> {
        self.others.iter().position(|other| other.as_ref().is_some_and(|other| other.range.contains(sp)))
    }

    /// Room for another stack, in place of the oldest. `None` when there is no
    /// memory.
    #[cold]
    pub(crate) fn add_other(&mut self, range: StackRange, lock: &Lock) -> Option<usize> {
        let index = self.oldest;
        self.oldest = (index + 1) % OTHERS;
        let place = &mut self.others[index];
        if let Some(other) = place {
            other.move_to(range);
            return Some(index);
        }
        let held = lock.hold()?;
        let memory = memory::alloc(CachedStack::bytes(FRAMES_AT_FIRST), &held)?;
        // SAFETY: new, zeroed memory of that size, aligned to 64, which stays and is this stack's alone.
        let stack = unsafe { CachedStack::over(memory.as_ptr(), FRAMES_AT_FIRST) };
        *place = Some(OtherStack { range, stack });
        Some(index)
    }
}
