//! A stack that is cached for the next walk: its frames, the outermost first, each with its slot: the place on
//! the stack of the return address that leads to it.
//!
//! A walk is a function of the registers, the rules and the stack words that it reads. So where a later
//! walk comes to a frame of the cached one with the same state, and all words that were read from there
//! outwards still hold what they held, the rest of it is the same - whatever happened in between:
//! returns, exceptions, `longjmp`, other frames in the same place. Only memory is compared; nothing is
//! assumed of the program. The words are
//!
//! - the return address of each frame, at its slot;
//! - what the frame pointer was loaded from, or a CFA (`and rsp, -64`), where a frame further out was found
//!   by it: a *check*, in a list of its own, because most code has none.
//!
//! A frame pointer that no frame further out was found by is any number, and is not compared.
#![allow(unsafe_code)]

use core::sync::atomic::{Ordering, compiler_fence};

use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::limits::DEPTH_MAX;

use super::beyond::{Beyond, Onward};
use super::frame::{Frame, Registers};
use super::new_frame::{FrameSlot, NewFrame};
use super::path_hash::PathHash;
use super::step::word;
use crate::platform::lock::Held;
use crate::platform::memory;

mod deep;

pub(crate) use deep::Gap;

/// What is known of a cached frame.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct CachedFrame {
    /// The path out from here.
    pub hash: PathHash,
    /// The frame.
    pub frame: Frame,
    /// The frame pointer register, or [`NOT_USED`].
    pub bp: usize,
    /// The number of the path, when it is known.
    pub id: StackId,
}

/// The frame pointer of a frame out from which nothing was found by it. No CFA can be made of this value.
pub(crate) const NOT_USED: usize = usize::MAX;

/// A word that must hold its value for the frames further in than `frame`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    address: usize,
    value: usize,
    /// Index of the frame that was found by it.
    frame: usize,
}

/// A cached stack over memory that is brought by the caller.
#[derive(Debug)]
pub(crate) struct CachedStack {
    slots: &'static mut [FrameSlot],
    frames: &'static mut [CachedFrame],
    checks: &'static mut [Check],
    len: usize,
    checks_len: usize,
    /// Index of the frame that the last walk began at; frames further in are from before.
    leaf: usize,
    /// What was loaded when it was walked; 0: nothing is cached.
    epoch: u64,
    /// The same, but 0 too when it is deep, or leads to another stack.
    shallow_epoch: u64,
    /// What its outermost frame leads to.
    beyond: Beyond,
    /// The hash of the path before its outermost frame.
    base: PathHash,
}

impl CachedStack {
    /// Bytes of memory for a walk of so many frames.
    const fn bytes(frames: usize) -> usize {
        frames * (size_of::<FrameSlot>() + size_of::<CachedFrame>() + size_of::<Check>())
    }

    /// Room for a walk of up to `frames` frames. `None` when there is no memory.
    pub(crate) fn new(frames: usize, held: &Held<'_>) -> Option<CachedStack> {
        let memory = memory::alloc(CachedStack::bytes(frames), held)?;
        // SAFETY: new, zeroed memory of that size, aligned to 64, which stays and is this stack's alone.
        Some(unsafe { CachedStack::over(memory.as_ptr(), frames) })
    }

    /// A walk of up to `frames` frames over zeroed memory.
    ///
    /// # Safety
    /// - `memory` is [`Self::bytes`] of zeroed memory, aligned to 8, and this walk's alone, for ever.
    unsafe fn over(memory: *mut u8, frames: usize) -> CachedStack {
        debug_assert!(memory.cast::<FrameSlot>().is_aligned());
        let slots = memory.cast::<FrameSlot>();
        let cached = slots.wrapping_add(frames).cast::<CachedFrame>();
        let checks = cached.wrapping_add(frames).cast::<Check>();
        // SAFETY: the memory is as large as the three together, zeroed, aligned and this stack's alone; all three
        // are integers, for which zero is valid.
        let (slots, cached, checks) = unsafe {
            let slots = core::slice::from_raw_parts_mut(slots, frames);
            let cached = core::slice::from_raw_parts_mut(cached, frames);
            (slots, cached, core::slice::from_raw_parts_mut(checks, frames))
        };
        let (len, checks_len, leaf, epoch, shallow_epoch) = (0, 0, 0, 0, 0);
        let (beyond, base) = (Beyond::Nothing(None), PathHash::default());
        CachedStack {
            slots,
            frames: cached,
            checks,
            len,
            checks_len,
            leaf,
            epoch,
            shallow_epoch,
            beyond,
            base,
        }
    }

    #[cfg(test)]
    pub(crate) fn of_tests(frames: usize) -> CachedStack {
        let memory = vec![0u64; CachedStack::bytes(frames) / size_of::<u64>()].leak();
        // SAFETY: zeroed memory of that size, aligned, leaked, and used by nobody else.
        unsafe { CachedStack::over(memory.as_mut_ptr().cast(), frames) }
    }

    /// How many frames it has room for.
    pub(crate) fn room(&self) -> usize {
        self.slots.len()
    }

    /// What was loaded when it was walked.
    #[inline(always)]
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What was loaded when it was walked, of a stack with up to [`DEPTH_MAX`] frames that leads to no other; 0 of
    /// those that are not for the fast path.
    #[inline(always)]
    pub(crate) fn shallow_epoch(&self) -> u64 {
        self.shallow_epoch
    }

    /// Forgets the walk.
    pub(crate) fn forget(&mut self) {
        (self.epoch, self.shallow_epoch) = (0, 0);
        self.len = 0;
        self.checks_len = 0;
    }

    /// Why the path does not begin at an outermost frame.
    #[inline(always)]
    pub(crate) fn cut(&self) -> Option<LossReason> {
        match self.beyond {
            Beyond::Nothing(cut) => cut,
            Beyond::Stack(_) => None,
        }
    }

    /// The caller of its outermost frame, when that is on another stack.
    pub(crate) fn onward(&self) -> Option<Onward> {
        match self.beyond {
            Beyond::Nothing(_) => None,
            Beyond::Stack(onward) => Some(onward),
        }
    }

    /// The frames of the last walk, the outermost first. The first may be the word that ends the stack.
    pub(crate) fn path(&mut self) -> &mut [CachedFrame] {
        self.frames.get_mut(..=self.leaf).unwrap_or_default()
    }

    /// The same, to be read.
    pub(crate) fn walked(&self) -> &[CachedFrame] {
        self.frames.get(..=self.leaf).unwrap_or_default()
    }

    /// The frame that the last walk began at.
    #[inline(always)]
    pub(crate) fn leaf(&mut self) -> Option<&mut CachedFrame> {
        self.frames.get_mut(self.leaf)
    }

    /// The innermost frame that is cached.
    #[inline(always)]
    pub(crate) fn innermost(&self) -> Option<&CachedFrame> {
        self.frames.get(..self.len)?.last()
    }

    /// How many frames, from the outermost on, are as they were, when the stack pointer is at `sp`: the
    /// path out from each of them is what it was.
    ///
    /// # Safety
    /// - The cached stack is the one that `sp` is in, or empty.
    /// - From `sp` on it is readable to the outermost slot that is cached.
    #[inline(always)]
    pub(crate) unsafe fn unchanged(&self, sp: usize) -> usize {
        let lowest = sp.wrapping_sub(8);
        let Some(mut slots) = self.slots.get(..self.len) else { return 0 };
        // Frames further in than the stack pointer have ended. Few, so they are taken off one by one, and
        // the others need no such look.
        while let Some((last, others)) = slots.split_last()
            && last.address < lowest
        {
            slots = others;
        }
        // SAFETY: a slot at or above the stack pointer, within the stack.
        let is_same = |frame_slot: &FrameSlot| unsafe { word(frame_slot.address) } == frame_slot.pc;
        let mut rest = slots;
        while let [a, b, c, d, others @ ..] = rest
            && is_same(a)
            && is_same(b)
            && is_same(c)
            && is_same(d)
        {
            rest = others;
        }
        while let [first, others @ ..] = rest
            && is_same(first)
        {
            rest = others;
        }
        let unchanged = slots.len() - rest.len();
        // SAFETY: the stack is the one that `sp` is in, readable to the outermost slot.
        if self.checks_len == 0 { unchanged } else { unsafe { self.checked(unchanged, lowest) } }
    }

    /// The same, where the frame pointers matter, too.
    ///
    /// # Safety
    /// - The cached stack is readable from `lowest + 8` to the outermost slot that is cached.
    unsafe fn checked(&self, unchanged: usize, lowest: usize) -> usize {
        for check in self.checks.get(..self.checks_len).unwrap_or_default() {
            // A frame is used only together with those out from it: a check beyond the last is not needed.
            if check.frame + 1 >= unchanged {
                break;
            }
            // SAFETY: a word at or above the stack pointer, within the stack.
            if check.address < lowest || unsafe { word(check.address) } != check.value {
                return check.frame + 1;
            }
        }
        unchanged
    }

    /// The innermost of the `unchanged` frames, when that is the one whose registers these are.
    #[inline(always)]
    pub(crate) fn leaf_at(&self, unchanged: usize, at: Registers) -> Option<&CachedFrame> {
        let index = unchanged.checked_sub(1)?;
        let (frame_slot, cached) = (self.slots.get(index)?, self.frames.get(index)?);
        let is_here =
            frame_slot.address == at.sp.wrapping_sub(8) && (cached.bp == NOT_USED || cached.bp == at.bp);
        is_here.then_some(cached)
    }

    /// The slot of the frame before frame `index`, further out; beyond all addresses when there is none.
    #[inline(always)]
    pub(crate) fn slot_before(&self, index: usize) -> usize {
        let before = index.checked_sub(1).and_then(|index| self.slots.get(index));
        before.map_or(usize::MAX, |frame_slot| frame_slot.address)
    }

    /// Where frame `index` was found.
    #[inline(always)]
    pub(crate) fn slot(&self, index: usize) -> Option<usize> {
        self.slots.get(..self.len)?.get(index).map(|frame_slot| frame_slot.address)
    }

    /// Frame `index`.
    pub(crate) fn frame(&self, index: usize) -> Option<&CachedFrame> {
        self.frames.get(..self.len)?.get(index)
    }

    /// Whether frame `index` is the one with this slot and path, and its frame pointer does not matter.
    #[inline(always)]
    pub(crate) fn is_at(&self, index: usize, slot: usize, hash: PathHash) -> bool {
        let (Some(frame_slot), Some(cached)) = (self.slots.get(index), self.frames.get(index)) else {
            return false;
        };
        frame_slot.address == slot && cached.hash == hash && cached.bp == NOT_USED
    }

    /// The frame pointer of frame `index`.
    #[inline(always)]
    pub(crate) fn bp(&self, index: usize) -> usize {
        self.frames.get(index).map_or(NOT_USED, |cached| cached.bp)
    }

    /// Begins to change it, keeping the outermost `outer` frames. A handler that jumped away before
    /// [`Self::close`] leaves it as if nothing were cached.
    #[inline(always)]
    pub(crate) fn open(&mut self, outer: usize) {
        (self.epoch, self.shallow_epoch) = (0, 0);
        compiler_fence(Ordering::SeqCst);
        self.len = outer;
        while let Some(last) = self.checks_len.checked_sub(1)
            && self.checks.get(last).is_none_or(|check| check.frame + 1 >= outer)
        {
            self.checks_len = last;
        }
    }

    /// Adds frames further in, the last of `new` first, none of which was found by a frame pointer. There
    /// is room for them.
    #[inline(always)]
    pub(crate) fn extend(&mut self, new: &[NewFrame], mut hash: PathHash) {
        let places = self.len..self.len + new.len();
        let (Some(slots), Some(cached)) = (self.slots.get_mut(places.clone()), self.frames.get_mut(places))
        else {
            return;
        };
        let mut places = slots.iter_mut().zip(cached);
        for new in new.iter().rev() {
            let Some((frame_slot, cached)) = places.next() else { return };
            let frame = Frame::new(new.frame_slot().pc, false);
            hash = if new.frame_slot().pc == 0 { hash } else { hash.roll(frame) };
            *frame_slot = new.frame_slot();
            *cached = CachedFrame { hash, frame, bp: NOT_USED, id: StackId::UNKNOWN };
        }
        self.len += new.len();
    }

    /// Adds a frame further in.
    #[inline(always)]
    pub(crate) fn push(&mut self, frame_slot: FrameSlot, cached: CachedFrame) {
        if let (Some(place), Some(details)) = (self.slots.get_mut(self.len), self.frames.get_mut(self.len)) {
            (*place, *details) = (frame_slot, cached);
            self.len += 1;
        }
    }

    /// Adds a word that frame `frame` was found by. False when there is no room.
    pub(crate) fn check(&mut self, frame: usize, address: usize, value: usize) -> bool {
        let Some(place) = self.checks.get_mut(self.checks_len) else { return false };
        *place = Check { address, value, frame };
        self.checks_len += 1;
        true
    }

    /// Ends a change: what was pushed is a whole path.
    #[inline(always)]
    pub(crate) fn close(&mut self, epoch: u64) {
        self.leaf = self.len.wrapping_sub(1);
        compiler_fence(Ordering::SeqCst);
        self.epoch = epoch;
        let is_alone = matches!(self.beyond, Beyond::Nothing(_));
        self.shallow_epoch = if self.len > DEPTH_MAX || !is_alone { 0 } else { epoch };
    }

    /// A walk began at a frame that is cached.
    #[inline(always)]
    pub(crate) fn begins_at(&mut self, index: usize) {
        self.leaf = index;
    }

    /// How many frames are cached.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Sets what its outermost frame leads to, while nothing of it is cached.
    #[inline(always)]
    pub(crate) fn begin(&mut self, beyond: Beyond) {
        self.beyond = beyond;
        self.base = PathHash::seed(self.cut());
    }

    /// The hash of the path before its outermost frame.
    #[inline(always)]
    pub(crate) fn base(&self) -> PathHash {
        self.base
    }

    /// The path to its outermost frame has this hash now. It is not deep.
    pub(crate) fn rebase(&mut self, base: PathHash) {
        if self.base == base {
            return;
        }
        let epoch = self.epoch;
        (self.epoch, self.shallow_epoch) = (0, 0);
        compiler_fence(Ordering::SeqCst);
        self.base = base;
        let mut hash = base;
        for cached in self.frames.get_mut(..self.len).unwrap_or_default() {
            hash = hash.roll(cached.frame);
            (cached.hash, cached.id) = (hash, StackId::UNKNOWN);
        }
        compiler_fence(Ordering::SeqCst);
        self.epoch = epoch;
    }
}
