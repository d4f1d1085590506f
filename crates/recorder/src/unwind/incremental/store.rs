//! What a walk found, put into the cached stack.

use heapscribe_wire::ids::StackId;
use heapscribe_wire::limits::DEPTH_MAX;

use super::Walking;
use crate::unwind::cached::{CachedFrame, CachedStack, NOT_USED};
use crate::unwind::frame::Frame;
use crate::unwind::new_frame::{BY_BP, BY_CFA, FLAGS, FrameSlot, GUESS};
use crate::unwind::path_hash::PathHash;

impl Walking<'_> {
    /// Caches the new frames, the outermost first. False when there is no room.
    #[inline(always)]
    pub(super) fn store<const DEEP: bool>(&self, walk: &mut CachedStack) -> bool {
        let outer = walk.innermost().copied();
        let hash = outer.map_or(walk.base(), |cached| cached.hash);
        let is_deep = DEEP && walk.len() + self.len > DEPTH_MAX;
        if !is_deep && self.flags == 0 && outer.is_none_or(|cached| cached.bp == NOT_USED) {
            walk.extend(self.new.get(..self.len).unwrap_or_default(), hash);
            return true;
        }
        self.store_with_checks::<DEEP>(walk, outer, hash)
    }

    /// As [`Self::store`], where frame pointers are followed, or where the stack is deep.
    #[inline(never)]
    fn store_with_checks<const DEEP: bool>(
        &self,
        walk: &mut CachedStack,
        outer: Option<CachedFrame>,
        mut hash: PathHash,
    ) -> bool {
        // The frame pointer of the frame before, and whether anything further out was found by it.
        let mut bp = outer.map_or(NOT_USED, |cached| cached.bp);
        let mut is_used = bp != NOT_USED;
        let mut reached = bp;
        for new in self.new.get(..self.len).unwrap_or_default().iter().rev() {
            if new.loaded & BY_CFA != 0 {
                // Noted before the frame whose rule it is, so it is after it here.
                if !walk.check(walk.len().wrapping_sub(2), new.slot, new.pc) {
                    return false;
                }
                continue;
            }
            let loaded = new.loaded & !FLAGS;
            if is_used && loaded != 0 {
                if !walk.check(walk.len().wrapping_sub(1), loaded, reached) {
                    return false;
                }
                is_used = false;
            }
            is_used |= new.loaded & BY_BP != 0;
            bp = if is_used { new.bp } else { NOT_USED };
            reached = new.bp;
            let frame = Frame::new(new.pc, false);
            let frame = if new.loaded & GUESS != 0 { frame.guessing() } else { frame };
            if DEEP && walk.len() >= DEPTH_MAX {
                hash = walk.hash_before_next(hash);
            }
            hash = if new.pc == 0 { hash } else { hash.roll(frame) };
            walk.push(
                FrameSlot { address: new.slot, pc: new.pc },
                CachedFrame { hash, frame, bp, id: StackId::UNKNOWN },
            );
        }
        true
    }
}
