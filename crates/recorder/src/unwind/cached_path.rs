//! Paths from a leaf to the first cached frame that a thread has walked before, by the leaf's return address
//! and stack pointer: a function that is called again from the same depth is there most of the time, and then
//! its new frames are compared with the stack, word by word, instead of walked.
//!
//! Only paths whose every step was by the stack pointer are cached, so that they depend on nothing but the
//! return addresses in between, and only to frames out from which the frame pointer is not used.
//!
//! ```text
//!   key      leaf's pc and sp        256 entries, a newer path replaces the older
//!   holds    where it joined the cached stack: index, slot, hash of the path
//!            slot and return address of each frame in between
//!   gives    the number of the stack
//! ```
#![allow(unsafe_code)]

use heapscribe_wire::ids::StackId;

use super::cached::{CachedStack, NOT_USED};
use super::frame::Registers;
use super::new_frame::{FrameSlot, NewFrame};
use super::path_hash::PathHash;
use super::step::word;

/// Frames of a path, without its leaf.
pub(crate) const FRAMES_MAX: usize = 8;
/// How many paths are cached.
pub(crate) const ENTRIES: usize = 256;

/// A path.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct CachedPath {
    pc: usize,
    sp: usize,
    /// What was loaded when it was walked; 0: there is no path here.
    epoch: u64,
    joined: usize,
    joined_slot: usize,
    joined_hash: PathHash,
    id: StackId,
    len: u32,
    frames: [FrameSlot; FRAMES_MAX],
}

const _: () = assert!(size_of::<CachedPath>() == 192);

impl CachedPath {
    /// Forgets the path.
    pub(crate) fn forget(&mut self) {
        if self.epoch != 0 {
            self.epoch = 0; // pages that were never used stay so
        }
    }
}

#[inline(always)]
fn index(at: Registers) -> usize {
    let mixed = (at.pc ^ at.sp.rotate_left(17)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed >> (usize::BITS - ENTRIES.ilog2())
}

/// The number of the stack at `at`, when the path from there to the `unchanged` outermost frames of the cached
/// stack is known and still what it was.
///
/// # Safety
/// - `stack` is the one that `at.sp` is in, or empty, and is readable from there to the outermost slot cached.
/// - [`CachedStack::unchanged`] gave `unchanged` for this stack pointer.
#[inline(always)]
pub(crate) unsafe fn find(
    paths: &[CachedPath; ENTRIES],
    stack: &CachedStack,
    unchanged: usize,
    at: Registers,
    epoch: u64,
) -> Option<StackId> {
    let path = &paths[index(at)];
    if path.pc != at.pc || path.sp != at.sp || path.epoch != epoch || path.joined >= unchanged {
        return None;
    }
    if !stack.is_at(path.joined, path.joined_slot, path.joined_hash) {
        return None;
    }
    let frames = path.frames.get(..path.len as usize)?;
    // SAFETY: the slots lie between the leaf, which has this stack pointer, and the frame it joined.
    frames.iter().all(|frame_slot| unsafe { word(frame_slot.address) } == frame_slot.pc).then_some(path.id)
}

/// Caches a path that was walked: from `at` by `frames`, all plain, the first of which is the leaf, to frame
/// `joined`.
pub(crate) fn store(
    paths: &mut [CachedPath; ENTRIES],
    stack: &CachedStack,
    at: Registers,
    frames: &[NewFrame],
    joined: usize,
    id: StackId,
) {
    let (Some(slot), Some(hash)) = (stack.slot(joined), stack.hash(joined)) else { return };
    if stack.bp(joined) != NOT_USED || id == StackId::UNKNOWN {
        return;
    }
    let path = &mut paths[index(at)];
    // A handler that jumped away in between leaves no path.
    path.epoch = 0;
    core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
    (path.pc, path.sp, path.id) = (at.pc, at.sp, id);
    (path.joined, path.joined_slot, path.joined_hash) = (joined, slot, hash);
    path.len = 0;
    for (place, frame_slot) in path.frames.iter_mut().zip(frames.iter().skip(1).filter_map(NewFrame::plain)) {
        *place = frame_slot;
        path.len += 1;
    }
    core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
    path.epoch = stack.epoch();
}
