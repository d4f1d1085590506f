//! A native stack and the frames that an interpreter runs in it, put together: what is the same for all interpreters.
#![allow(unsafe_code)]

use heapscribe_wire::ids::StackId;

use super::bounds;
use super::capture::Capture;
use super::chain::{Leaf, walk_one};
use super::define::define;
use crate::definitions::UncachedPath;
use crate::state::{CachedStacks, Index};
use crate::unwind::PathHash;
use crate::unwind::incremental::Incremental;

/// The frames that an interpreter runs on a stack.
pub(super) trait Interpreted {
    /// How many there are at most.
    fn len(&self) -> usize;
    /// Works out which call of the native stack runs which of them.
    fn find_calls(&mut self) -> bool;
    /// Writes the frames of both into `stacks.frames`, the leaf first: how many. `None` when one of these belongs to no call
    /// of the native stack, which is cached at `index`.
    fn merge(&self, stacks: &mut CachedStacks, index: Index) -> Option<usize>;
}

/// Puts both stacks together: their number, which is found by `key` from then on.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active.
#[cold]
#[inline(never)]
pub(super) unsafe fn composed(
    capture: &Capture<'_>,
    key: PathHash,
    mut interpreted: impl Interpreted,
) -> Option<StackId> {
    let Capture { registers, thread, session, epoch, .. } = *capture;
    let found = bounds::find(capture)?;
    let index = found.index.filter(|_| epoch.is_quiet() && interpreted.find_calls())?;
    let leaf = Leaf { registers, stack: found.range, readable: found.readable, index };
    // SAFETY: the cached stacks are the thread's own, and one hook at a time uses them; the registers are the caller's,
    // on the stack that was found, readable as far.
    let (stacks, walked) = unsafe {
        let stacks = &mut *thread.stacks.get();
        let walked = walk_one(capture, stacks, leaf)?;
        (stacks, walked)
    };
    let native = stacks.get(index).filter(|stack| stack.onward().is_none())?;
    let (cut, all) = (native.cut(), native.walked().len() + interpreted.len());
    matches!(walked, Incremental::Walked { .. }).then_some(())?;
    while stacks.frames.len() < all {
        stacks.grow_walk(&session.lock).then_some(())?;
    }
    let count = interpreted.merge(stacks, index)?;
    let mut path = UncachedPath::new(stacks.frames.get_mut(..count)?, stacks.hashes, cut);
    path.alias = Some(key);
    define(&mut path, capture).filter(|id| *id != StackId::UNKNOWN)
}
