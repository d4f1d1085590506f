//! Which frames of a stack are recorded when it is too deep for all of them.
//!
//! Up to [`DEPTH_MAX`] frames all are. Of a deeper stack those next to the root stay, because they say which part of
//! the program it is, and those next to the leaf, because they say what it does; what lies between is left out:
//!
//! ```text
//!   depth     0 .. 511 | 512 .. ..  | n 512 .. leaf
//!   recorded  outer    | a gap      | inner            n = leaf / 512 - 1: from 513 to 1,024 frames
//! ```
//! The inner part begins at a multiple of [`INNER_FRAMES`], so that a leaf and its caller mostly have the same
//! beginning: the paths of a recursion share their nodes, where a window that slid along with the leaf would define
//! all of its frames anew at each depth. And so that what is recorded depends only on the frames it has: the many
//! in the middle need not be compared at each call.

use core::ops::Range;

use heapscribe_wire::limits::{DEPTH_MAX, INNER_FRAMES, OUTER_FRAMES};

use super::frame::Frame;
use super::path_hash::PathHash;

/// The depth at which the inner part of a stack begins whose leaf is at `leaf`, counted from 0 at the root. `None`
/// when all of its frames are recorded.
#[inline(always)]
pub(crate) const fn inner_start(leaf: usize) -> Option<usize> {
    match leaf >= DEPTH_MAX {
        true => Some(segment_start(leaf) - INNER_FRAMES),
        false => None,
    }
}

/// The least depth of a leaf whose inner part begins where that of `leaf` does.
pub(crate) const fn segment_start(leaf: usize) -> usize {
    leaf - (leaf - OUTER_FRAMES) % INNER_FRAMES
}

/// The hash of the path to the gap, out of that to the frame before it.
pub(crate) const fn gap(outer: PathHash) -> PathHash {
    outer.roll(Frame::GAP)
}

/// Takes the middle out of frames that are too many, the leaf first: how many are left, the gap among them.
pub(crate) fn leave_out_middle(frames: &mut [Frame]) -> usize {
    let Some(inner) = frames.len().checked_sub(1).and_then(inner_start) else { return frames.len() };
    let inner = frames.len() - inner;
    let outer: Range<usize> = frames.len() - OUTER_FRAMES..frames.len();
    if let Some(place) = frames.get_mut(inner) {
        *place = Frame::GAP;
    }
    frames.copy_within(outer, inner + 1);
    inner + 1 + OUTER_FRAMES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(leaf: usize, expected: Option<usize>) {
        assert_eq!(inner_start(leaf), expected, "{leaf}");
    }

    #[test]
    fn the_inner_part_begins_at_steps() {
        check(0, None);
        check(4095, None);
        check(4096, Some(3584));
        check(4607, Some(3584));
        check(4608, Some(4096));
        check(500_000, Some(499_200));
    }

    #[test]
    fn root_and_leaf_stay() {
        let frame = |depth: usize| Frame::new(depth + 1, false);
        let mut frames: Vec<Frame> = (0..6000).rev().map(frame).collect();
        let left = leave_out_middle(&mut frames);
        let expected: Vec<Frame> =
            (0..512).map(frame).chain([Frame::GAP]).chain((5120..6000).map(frame)).rev().collect();
        assert_eq!(frames[..left], expected);
        assert_eq!(leave_out_middle(&mut frames[..4096]), 4096);
    }
}
