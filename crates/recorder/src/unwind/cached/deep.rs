//! A cached stack with more frames than are recorded of it, see [`super::super::depth`]: the cost of a call must not grow with
//! the depth, so only the words of frames that are recorded are compared, and of [`GUARD_FRAMES`] more at each side of the gap.
//!
//! What this rests on: a frame that is recorded is where it was when all its words and those of its neighbours hold
//! what they held. For a wrong frame to be recorded, one function would have to lie over `GUARD_FRAMES` ended ones and write to
//! none of their return addresses.
#![allow(unsafe_code)]

use core::ops::Range;

use heapscribe_wire::limits::{DEPTH_MAX, OUTER_FRAMES};

use super::super::depth::{gap, inner_start, segment_start};
use super::super::path_hash::PathHash;
use super::super::step::word;
use super::{CachedFrame, CachedStack};

/// Frames that are compared beyond those that are recorded.
const GUARD_FRAMES: usize = 256;

/// Where frames are left out of the path that a cached stack was last walked along: indices of its frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    /// The first frame that is left out.
    pub at: usize,
    /// The first one after them.
    pub inner: usize,
    /// The first one whose cached hash and number are of a path with this gap.
    pub segment: usize,
}

impl CachedStack {
    /// Whether it has more frames than are recorded of a stack.
    pub(crate) fn is_deep(&self) -> bool {
        self.len > DEPTH_MAX
    }

    /// Index of the outermost frame: that of depth 0.
    fn outermost(&self) -> usize {
        self.slots.first().map_or(0, |slot| usize::from(slot.pc == 0))
    }

    /// What is left out of the last path.
    pub(crate) fn gap(&self) -> Option<Gap> {
        let outermost = self.outermost();
        let depth = self.leaf.checked_sub(outermost)?;
        let inner = inner_start(depth)? + outermost;
        Some(Gap { at: OUTER_FRAMES + outermost, inner, segment: segment_start(depth) + outermost })
    }

    /// The frames that need not be compared when the innermost of the outer ones is frame `outer - 1`.
    fn left_out(&self, outer: usize) -> Range<usize> {
        let outermost = self.outermost();
        match outer.checked_sub(outermost + 1).and_then(inner_start) {
            Some(inner) => OUTER_FRAMES + GUARD_FRAMES + outermost..inner - GUARD_FRAMES + outermost,
            None => 0..0,
        }
    }

    /// As [`CachedStack::unchanged`], of a stack that may be deep.
    ///
    /// # Safety
    /// - The cached stack is the one that `sp` is in, or empty.
    /// - From `sp` on it is readable to the outermost slot that is cached.
    pub(crate) unsafe fn unchanged_deep(&self, sp: usize) -> usize {
        if !self.is_deep() {
            // SAFETY: the stack is the one that `sp` is in, readable to the outermost slot.
            return unsafe { self.unchanged(sp) };
        }
        let lowest = sp.wrapping_sub(8);
        let slots = self.slots.get(..self.len).unwrap_or_default();
        let mut outer = slots.partition_point(|slot| slot.address >= lowest);
        let mut known = outer;
        // Where a frame has changed it is the part inside the gap of those further out that counts.
        loop {
            let left_out = self.left_out(outer);
            if left_out.end >= known {
                // SAFETY: the stack is the one that `sp` is in, readable to the outermost slot.
                let changed = unsafe { self.first_changed(0..left_out.start, lowest) };
                return if changed < left_out.start { changed } else { outer };
            }
            // SAFETY: the stack is the one that `sp` is in, readable to the outermost slot.
            outer = unsafe { self.first_changed(left_out.end..outer, lowest) };
            known = left_out.end;
        }
    }

    /// Whether the `outer` frames, some of the `unchanged` ones, are known to be unchanged: those of them that are
    /// recorded when the leaf is the last may have been in the gap before.
    ///
    /// # Safety
    /// - As of [`CachedStack::unchanged_deep`], which gave `unchanged` for this stack pointer.
    pub(crate) unsafe fn is_known(&self, outer: usize, unchanged: usize, sp: usize) -> bool {
        let (before, now) = (self.left_out(unchanged), self.left_out(outer));
        if now.end >= before.end {
            return true;
        }
        let lowest = sp.wrapping_sub(8);
        // SAFETY: the stack is the one that `sp` is in, readable to the outermost slot.
        unsafe { self.first_changed(now.end..outer, lowest) == outer }
    }

    /// The first frame of some that is not as it was, else their end.
    ///
    /// # Safety
    /// - The cached stack is readable from `lowest + 8` to the outermost slot that is cached.
    unsafe fn first_changed(&self, frames: Range<usize>, lowest: usize) -> usize {
        let slots = self.slots.get(frames.clone()).unwrap_or_default();
        // SAFETY: a slot at or above the stack pointer, within the stack.
        let changed = slots.iter().position(|slot| unsafe { word(slot.address) } != slot.pc);
        let end = changed.map_or(frames.end, |index| frames.start + index);
        let checks = self.checks.get(..self.checks_len).unwrap_or_default();
        let checks =
            checks.get(checks.partition_point(|check| check.frame < frames.start)..).unwrap_or_default();
        for check in checks.iter().take_while(|check| check.frame + 1 < end) {
            // SAFETY: a word at or above the stack pointer, within the stack.
            if check.address < lowest || unsafe { word(check.address) } != check.value {
                return check.frame + 1;
            }
        }
        end
    }

    /// What the hash of the next frame that is pushed is rolled from: `hash`, that of the path to the frame before it,
    /// but where the inner part of the path begins anew.
    pub(crate) fn hash_before_next(&self, hash: PathHash) -> PathHash {
        let outermost = self.outermost();
        let Some(depth) = self.len.checked_sub(outermost).filter(|&depth| depth >= DEPTH_MAX) else {
            return hash;
        };
        if segment_start(depth) != depth {
            return hash;
        }
        let inner = inner_start(depth).map_or(self.len, |inner| inner + outermost);
        let frames = self.frames.get(inner..self.len).unwrap_or_default();
        frames.iter().fold(self.hash_of_gap(), |hash, cached| hash.roll(cached.frame))
    }

    /// The hash of the path to the gap.
    pub(crate) fn hash_of_gap(&self) -> PathHash {
        let last = self.outermost() + OUTER_FRAMES - 1;
        gap(self.frames.get(last).map_or_else(PathHash::default, |cached: &CachedFrame| cached.hash))
    }
}
