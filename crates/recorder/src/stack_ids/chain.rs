//! A cached walk over several stacks: the pieces of a split one, each cached by itself and walked as far as its first
//! frame that is known.
//!
//! ```text
//!   own stack        main  parse  __morestack's caller
//!   second piece                    '- expr  term  __morestack's caller
//!   third piece                                      '- expr  malloc's caller
//! ```
//! The hash of a frame is that of its whole path, so those of a piece are rolled anew when the path to it is another one.
#![allow(unsafe_code)]

use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::StackId;
use heapscribe_wire::limits::DEPTH_MAX;

use super::bounds;
use super::capture::{Capture, Silent};
use super::define::number_of;
use super::native::NativeStack;
use super::stacks_met::STACKS_MAX;
use crate::definitions::{Path, PathNode};
use crate::state::{CachedStacks, Index};
use crate::unwind::beyond::Onward;
use crate::unwind::cached::CachedStack;
use crate::unwind::incremental::{Incremental, Start, walk_incremental};
use crate::unwind::{PathHash, Registers, StackRange};

/// Where a walk of one stack starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    /// The registers of its frame.
    pub registers: Registers,
    /// The stack that they are on.
    pub stack: StackRange,
    /// How far that is known to be readable.
    pub readable: usize,
    /// Which of the cached stacks it is.
    pub index: Index,
}

/// Walks on from what is cached of one stack. `None` when there is nothing of that number.
///
/// # Safety
/// * The registers are those of a frame of the calling thread that is still active, on the stack.
/// * That is readable from the stack pointer as far as is said.
#[inline(never)] // so that its frame has ended when a stack is defined
pub(super) unsafe fn walk_one(
    capture: &Capture<'_>,
    stacks: &mut CachedStacks,
    leaf: Leaf,
) -> Option<Incremental> {
    let Leaf { registers, stack, readable, index } = leaf;
    let epoch = capture.epoch.number();
    loop {
        let walk = match index {
            Index::Own => &mut stacks.own,
            Index::Other(index) => &mut stacks.others.get_mut(index)?.stack,
        };
        if walk.epoch() != epoch || walk.slot(0).is_some_and(|top| top >= readable) {
            walk.forget();
        }
        // SAFETY: the registers are those of an active frame on `stack`, which is readable to `readable`, beyond all
        // that `walk` has; `walk` is of this stack, and `unchanged` is what it gives for this stack pointer.
        let walked = unsafe {
            let unchanged = walk.unchanged_deep(registers.sp);
            let start = Start { registers, stack, readable, unchanged, epoch };
            walk_incremental::<_, true>(walk, stacks.new, &capture.unwinder, &mut Silent, start)
        };
        match (walked, index) {
            (Incremental::NoRoom, _) if stacks.grow(index, &capture.session.lock) => {}
            (Incremental::Walked { .. }, Index::Other(index)) => {
                stacks.others.walked(index);
                return Some(walked);
            }
            _ => return Some(walked),
        }
    }
}

/// The stack whose innermost part, at `first`, was walked and leads to others. `None` within when it is to be tried again.
///
/// # Safety
/// * The frame before `onward` is one of the calling thread that is still active.
#[cold]
#[inline(never)]
pub(super) unsafe fn numbered(
    capture: &Capture<'_>,
    stacks: &mut CachedStacks,
    first: Index,
    onward: Onward,
) -> Result<Option<NativeStack>, Unusual> {
    // SAFETY: the frame before is active.
    let chain = unsafe { Chain::follow(capture, stacks, first, onward) }.ok_or(Unusual)?;
    let mut path = ChainPath { stacks, chain: &chain };
    let hash = path.hash();
    Ok(number_of(&mut path, hash, capture).map(|id| NativeStack { hash, id, walked: None }))
}

/// The stacks are not for this kind of walk.
#[derive(Debug)]
pub(super) struct Unusual;

/// Stacks that lead to each other, the innermost first.
struct Chain {
    stacks: [Index; STACKS_MAX + 1],
    len: usize,
}

impl Chain {
    fn stacks(&self) -> &[Index] {
        self.stacks.get(..self.len).unwrap_or_default()
    }

    /// `None` for one that is there: of two walks of one stack only the second would be left.
    fn push(&mut self, index: Index) -> Option<()> {
        let is_new = !self.stacks().contains(&index);
        *self.stacks.get_mut(self.len).filter(|_| is_new)? = index;
        self.len += 1;
        Some(())
    }

    /// Walks the stacks that the one at `first`, which was walked, leads to.
    ///
    /// # Safety
    /// * The frame before `onward` is one of the calling thread that is still active.
    unsafe fn follow(
        capture: &Capture<'_>,
        stacks: &mut CachedStacks,
        first: Index,
        onward: Onward,
    ) -> Option<Chain> {
        let mut chain = Chain { stacks: [first; STACKS_MAX + 1], len: 1 };
        let mut next = Some(onward);
        while let Some(onward) = next {
            let sp = onward.lowest();
            let found = bounds::find_outer(capture, sp, &mut stacks.others, true, chain.stacks())?;
            let index = found.index.filter(|_| found.readable >= onward.cfa)?;
            chain.push(index)?;
            // SAFETY: the stack is readable from the lowest word to the CFA.
            let registers = unsafe { onward.caller() };
            let leaf = Leaf { registers, stack: found.range, readable: found.readable, index };
            // SAFETY: the caller of an active frame is one; the stack was found to be readable as far.
            let walked = unsafe { walk_one(capture, stacks, leaf)? };
            let walk = stacks.stack(index)?;
            let Incremental::Walked { new, .. } = walked else { return None };
            if new > 0 && capture.unwinder.loader.find_text(registers.pc).is_none() {
                walk.forget(); // no code: rbp was no frame pointer
                return None;
            }
            next = walk.onward();
        }
        chain.join(stacks)?;
        Some(chain)
    }

    /// Gives each stack the path to it. `None` when there are too many frames.
    fn join(&self, stacks: &mut CachedStacks) -> Option<()> {
        let (mut base, mut frames) = (None, 0);
        for &index in self.stacks().iter().rev() {
            let walk = stacks.stack(index)?;
            frames += walk.len();
            if frames > DEPTH_MAX {
                return None;
            }
            if let Some(base) = base {
                walk.rebase(base);
            }
            base = Some(walk.leaf()?.hash);
        }
        Some(())
    }

    fn outermost<'a>(&self, stacks: &'a CachedStacks) -> Option<&'a CachedStack> {
        stacks.get(*self.stacks().last()?)
    }
}

/// The path that stacks were walked along.
struct ChainPath<'a> {
    stacks: &'a mut CachedStacks,
    chain: &'a Chain,
}

impl ChainPath<'_> {
    /// The stack of a frame of the path, and its index there.
    fn place(&self, mut index: usize) -> Option<(Index, usize)> {
        for &stack in self.chain.stacks().iter().rev() {
            let frames = self.stacks.get(stack)?.walked().len();
            if index < frames {
                return Some((stack, index));
            }
            index -= frames;
        }
        None
    }

    /// The hash of the path.
    fn hash(&self) -> PathHash {
        self.node(self.len().wrapping_sub(1)).hash
    }
}

impl Path for ChainPath<'_> {
    fn len(&self) -> usize {
        let frames = |stack: &Index| self.stacks.get(*stack).map_or(0, |stack| stack.walked().len());
        self.chain.stacks().iter().map(frames).sum()
    }

    fn node(&self, index: usize) -> PathNode {
        let place = self.place(index);
        let cached = place.and_then(|(stack, index)| self.stacks.get(stack)?.walked().get(index));
        cached.map_or_else(PathNode::default, |c| PathNode { hash: c.hash, frame: c.frame, id: c.id })
    }

    fn set_id(&mut self, index: usize, id: StackId) {
        let Some((stack, index)) = self.place(index) else { return };
        if let Some(cached) = self.stacks.stack(stack).and_then(|stack| stack.path().get_mut(index)) {
            cached.id = id;
        }
    }

    fn seed(&self) -> PathHash {
        PathHash::seed(self.cut())
    }

    fn cut(&self) -> Option<LossReason> {
        self.chain.outermost(self.stacks)?.cut()
    }

    fn has_gap(&self) -> bool {
        false
    }
}
