//! A thread's memory for walks: one that is kept of its own stack, some of other stacks - a signal's, a
//! fiber's - that it runs on now and then, and room for a walk in progress.
#![allow(unsafe_code)]

use heapscribe_wire::head::Drop;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::limits::DEPTH_MAX;

use crate::capture::again::New;
use crate::capture::kept::{Kept, KeptWalk};
use crate::capture::memo::{self, Way};
use crate::capture::{Frame, PathHash, StackRange};
use crate::intern::Path;
use crate::memory;
use crate::session::Session;

/// Frames that a walk has room for at first; deeper ones get room for [`DEPTH_MAX`].
const FRAMES_AT_FIRST: usize = 256;
/// Other stacks of which a walk is kept.
const OTHERS: usize = 4;

/// The memory.
#[derive(Debug)]
pub(crate) struct Walks {
    /// Of the thread's own stack.
    pub own: KeptWalk,
    /// Of other stacks, the last of which a walk was kept.
    pub others: [Option<(StackRange, KeptWalk)>; OTHERS],
    /// The one of those that is to be forgotten next.
    oldest: usize,
    /// Ways to the own stack's kept walk.
    pub ways: &'static mut [Way; memo::ENTRIES],
    /// Room for frames on their way.
    pub new: &'static mut [New],
    /// Room for a walk that is not kept, the leaf first.
    pub frames: &'static mut [Frame],
    /// The hashes of its paths.
    pub hashes: &'static mut [PathHash],
}

const fn bytes(frames: usize) -> usize {
    KeptWalk::bytes(frames) + frames * (size_of::<New>() + size_of::<Frame>() + size_of::<PathHash>())
}

/// What grows with the depth of a thread's stacks.
struct Room {
    own: KeptWalk,
    new: &'static mut [New],
    frames: &'static mut [Frame],
    hashes: &'static mut [PathHash],
}

impl Room {
    /// # Safety
    /// * As for [`memory::alloc`].
    unsafe fn new(frames: usize) -> Option<Room> {
        // SAFETY: the caller's contract; the parts lie one behind the other in new, zeroed memory, and
        // are integers, for which zero is valid.
        unsafe {
            let own = memory::alloc(bytes(frames))?.as_ptr();
            let new = own.add(KeptWalk::bytes(frames)).cast::<New>();
            let leaf_first = new.add(frames).cast::<Frame>();
            let hashes = leaf_first.add(frames).cast::<PathHash>();
            Some(Room {
                own: KeptWalk::over(own, frames),
                new: core::slice::from_raw_parts_mut(new, frames),
                frames: core::slice::from_raw_parts_mut(leaf_first, frames),
                hashes: core::slice::from_raw_parts_mut(hashes, frames),
            })
        }
    }
}

impl Walks {
    /// Memory for a new thread. `None` when there is none.
    ///
    /// # Safety
    /// * As for [`memory::alloc`].
    pub(crate) unsafe fn new() -> Option<Walks> {
        // SAFETY: the caller's contract; ways are integers, for which zero is valid.
        let (Room { own, new, frames, hashes }, ways) = unsafe {
            let ways = memory::alloc(size_of::<[Way; memo::ENTRIES]>())?.cast().as_mut();
            (Room::new(FRAMES_AT_FIRST)?, ways)
        };
        Some(Walks { own, others: [const { None }; OTHERS], oldest: 0, ways, new, frames, hashes })
    }

    /// Forgets all walks: for a thread that begins.
    pub(crate) fn forget(&mut self) {
        self.own.forget();
        self.ways.iter_mut().for_each(Way::forget);
        self.others.iter_mut().flatten().for_each(|(range, walk)| {
            *range = StackRange { lo: 0, hi: 0 };
            walk.forget();
        });
    }

    /// Makes room for the deepest stacks. False when it was there, or there is no memory.
    #[cold]
    pub(crate) fn grow(&mut self, session: &Session) -> bool {
        if self.new.len() >= DEPTH_MAX {
            return false;
        }
        let Some(_held) = session.lock.hold() else { return false };
        // SAFETY: the lock is held; integers in new, zeroed memory.
        let Some(room) = (unsafe { Room::new(DEPTH_MAX) }) else { return false };
        self.own = room.own;
        (self.new, self.frames, self.hashes) = (room.new, room.frames, room.hashes);
        true
    }

    /// The walk that is kept of the stack around `sp`.
    pub(crate) fn find_other(&self, sp: usize) -> Option<usize> {
        self.others.iter().position(|other| other.as_ref().is_some_and(|(range, _)| range.contains(sp)))
    }

    /// Room for a walk of another stack, in place of the one that came first. `None` when there is no
    /// memory.
    #[cold]
    pub(crate) fn add_other(&mut self, range: StackRange, session: &Session) -> Option<usize> {
        let index = self.oldest;
        self.oldest = (index + 1) % OTHERS;
        let place = &mut self.others[index];
        if let Some((old, walk)) = place {
            walk.forget();
            *old = range;
            return Some(index);
        }
        let _held = session.lock.hold()?;
        // SAFETY: the lock is held; new zeroed memory, aligned to 64.
        let walk = unsafe {
            KeptWalk::over(memory::alloc(KeptWalk::bytes(FRAMES_AT_FIRST))?.as_ptr(), FRAMES_AT_FIRST)
        };
        *place = Some((range, walk));
        Some(index)
    }
}

impl Path for (&mut [Kept], PathHash, Option<Drop>) {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn frame(&self, index: usize) -> (PathHash, Frame, StackId) {
        self.0.get(index).map_or_else(Default::default, |kept| (kept.hash, kept.frame, kept.id))
    }

    fn set_id(&mut self, index: usize, id: StackId) {
        if let Some(kept) = self.0.get_mut(index) {
            kept.id = id;
        }
    }

    fn root(&self) -> (PathHash, Option<Drop>) {
        (self.1, self.2)
    }
}

/// A walk that is not kept: its frames, the leaf first, and the hashes of the paths out from them.
#[derive(Debug)]
pub(crate) struct Walked<'a> {
    frames: &'a [Frame],
    hashes: &'a mut [PathHash],
    seed: PathHash,
    cut: Option<Drop>,
}

impl<'a> Walked<'a> {
    /// Rolls the hashes along the path.
    pub(crate) fn new(
        frames: &'a [Frame],
        hashes: &'a mut [PathHash],
        generation: u32,
        cut: Option<Drop>,
    ) -> Walked<'a> {
        let seed = PathHash::seed(generation, cut);
        let mut hash = seed;
        for (frame, place) in frames.iter().zip(hashes.iter_mut()).rev() {
            hash = hash.roll(*frame);
            *place = hash;
        }
        Walked { frames, hashes, seed, cut }
    }

    /// The hash of the whole path.
    pub(crate) fn hash(&self) -> PathHash {
        if self.frames.is_empty() { self.seed } else { self.hashes.first().copied().unwrap_or(self.seed) }
    }
}

impl Path for Walked<'_> {
    fn len(&self) -> usize {
        self.frames.len()
    }

    fn frame(&self, index: usize) -> (PathHash, Frame, StackId) {
        let from_leaf = self.frames.len().wrapping_sub(index + 1);
        let of = |i: usize| Some((*self.hashes.get(i)?, *self.frames.get(i)?, StackId::UNKNOWN));
        of(from_leaf).unwrap_or_default()
    }

    fn set_id(&mut self, _index: usize, _id: StackId) {}

    fn root(&self) -> (PathHash, Option<Drop>) {
        (self.seed, self.cut)
    }
}
