//! The ways from a leaf to the first known frame that a thread has walked before, by the leaf's return
//! address and stack pointer: a function that is called again from the same depth is there most of the
//! time, and then its new frames are compared with the stack, word by word, instead of walked.
//!
//! Only ways whose every step was by the stack pointer are kept, so that they depend on nothing but the
//! return addresses in between, and only to frames out from which the frame pointer is not used.
//!
//! ```text
//!   key      leaf's pc and sp        256 entries, a newer way replaces the older
//!   holds    where it joined the kept walk: index, slot, hash of the path
//!            slot and return address of each frame in between
//!   gives    the number of the stack
//! ```
#![allow(unsafe_code)]

use heapscribe_wire::ids::StackId;

use super::again::New;
use super::kept::{KeptWalk, Mark, NOT_USED};
use super::path::PathHash;
use super::walk::{Registers, word};

/// Frames of a way, without its leaf.
pub(crate) const FRAMES_MAX: usize = 8;
/// How many ways are kept.
pub(crate) const ENTRIES: usize = 256;

/// A way.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Way {
    pc: usize,
    sp: usize,
    /// What was loaded when it was walked; 0: there is no way here.
    epoch: u64,
    joined: usize,
    joined_slot: usize,
    joined_hash: PathHash,
    id: StackId,
    len: u32,
    frames: [Mark; FRAMES_MAX],
}

const _: () = assert!(size_of::<Way>() == 192);

impl Way {
    /// Forgets the way.
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

/// The number of the stack at `at`, when the way from there to the `unchanged` outermost frames of the kept
/// walk is known and still what it was.
///
/// # Safety
/// - As for [`KeptWalk::unchanged`], which gave `unchanged` for this stack pointer.
#[inline(always)]
pub(crate) unsafe fn find(
    ways: &[Way; ENTRIES],
    walk: &KeptWalk,
    unchanged: usize,
    at: Registers,
    epoch: u64,
) -> Option<StackId> {
    let way = &ways[index(at)];
    if way.pc != at.pc || way.sp != at.sp || way.epoch != epoch || way.joined >= unchanged {
        return None;
    }
    if !walk.is_at(way.joined, way.joined_slot, way.joined_hash) {
        return None;
    }
    let frames = way.frames.get(..way.len as usize)?;
    // SAFETY: the slots lie between the leaf, which has this stack pointer, and the frame it joined.
    frames.iter().all(|mark| unsafe { word(mark.slot) } == mark.pc).then_some(way.id)
}

/// Keeps a way that was walked: from `at` by `frames`, all plain, the first of which is the leaf, to frame
/// `joined`.
pub(crate) fn keep(
    ways: &mut [Way; ENTRIES],
    walk: &KeptWalk,
    at: Registers,
    frames: &[New],
    joined: usize,
    id: StackId,
) {
    let (Some(slot), Some(hash)) = (walk.slot(joined), walk.hash(joined)) else { return };
    if walk.bp(joined) != NOT_USED || id == StackId::UNKNOWN {
        return;
    }
    let way = &mut ways[index(at)];
    // A handler that jumped away in between leaves no way.
    way.epoch = 0;
    core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
    (way.pc, way.sp, way.id) = (at.pc, at.sp, id);
    (way.joined, way.joined_slot, way.joined_hash) = (joined, slot, hash);
    way.len = 0;
    for (place, mark) in way.frames.iter_mut().zip(frames.iter().skip(1).filter_map(New::plain)) {
        *place = mark;
        way.len += 1;
    }
    core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
    way.epoch = walk.epoch();
}
