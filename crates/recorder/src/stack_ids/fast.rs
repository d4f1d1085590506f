//! The number of a stack that is known, almost always: all that is usual, inline in the hooks.
#![allow(unsafe_code)]

use heapscribe_wire::ids::StackId;

use super::capture::{Capture, Silent};
use super::define::define;
use super::slow::capture_slow;
use super::verify;
use crate::definitions::CachedStackPath;
use crate::state::{CachedStacks, Session, Thread};
use crate::unwind::cached::CachedStack;
use crate::unwind::cached_path;
use crate::unwind::incremental::{Incremental, Start, walk_incremental};
use crate::unwind::{PathHash, Registers, StackRange, Unwinder, process_rules};
use crate::{modules, program};

/// The number of the calling thread's stack.
///
/// # Safety
/// * `registers` are those of the hook's caller, which is still active.
#[inline(always)]
pub(crate) unsafe fn stack_id(registers: Registers, thread: &Thread, session: &Session) -> StackId {
    let (Some(loader), cache) = (program::loader(), process_rules::pc_cache()) else {
        return StackId::UNKNOWN;
    };
    let epoch = modules::epoch();
    let unwinder = Unwinder { loader, cache, known: None };
    let capture = Capture { registers, thread, session, unwinder, epoch };
    if let Some(stack) = thread.stack.get().filter(|stack| stack.contains(registers.sp))
        && epoch.is_quiet()
    {
        // SAFETY: the registers are the caller's, which is active, in the thread's own stack, which is readable to
        // its end; the cached stacks are the thread's own, and one hook at a time uses them.
        if let Some(id) = unsafe { on_own_stack(&capture, stack, &mut *thread.stacks.get()) } {
            return id;
        }
    }
    // SAFETY: the registers are the caller's, which is active.
    unsafe { capture_slow(capture) }
}

/// The number of a stack that is known. `None` for all that is unusual.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active, on `stack`.
/// * `stack` is the thread's own, readable to its end, and `stacks.own` is of it or empty.
#[inline(always)]
unsafe fn on_own_stack(
    capture: &Capture<'_>,
    stack: StackRange,
    stacks: &mut CachedStacks,
) -> Option<StackId> {
    let Capture { registers, session, ref unwinder, epoch, .. } = *capture;
    let CachedStacks { own, new, paths, hashes, .. } = stacks;
    let number = epoch.number();
    if own.shallow_epoch() != number {
        return None;
    }
    debug_assert!(stack.contains(registers.sp));
    // SAFETY: `own` is of the stack that the registers are on, which is readable to its end; `unchanged` is what
    // it gives for this stack pointer.
    let (unchanged, set, known) = unsafe {
        let unchanged = own.unchanged(registers.sp);
        match own.id_at(unchanged, registers) {
            Some(id) => (unchanged, None, Some(id)),
            None => {
                let set = unwinder.cache.as_ref();
                let set = set.and_then(|rules| cached_path::set_of(rules, registers, stack.hi));
                let known = set.and_then(|set| paths.find(set, own, unchanged, registers, number));
                (unchanged, set, known)
            }
        }
    };
    if let Some(id) = known {
        capture.count_cut(own.cut());
        // SAFETY: the registers are the caller's, on `stack`, which is readable.
        return unsafe { verify::confirmed(capture, stack, stacks, id) };
    }
    // SAFETY: the registers are those of an active frame on `stack`, which is readable to its end; `own` is of it,
    // and `unchanged` is what it gives for this stack pointer.
    let walked = unsafe {
        let start = Start { registers, stack, readable: stack.hi, unchanged, epoch: number };
        walk_incremental::<_, false>(own, new, unwinder, &mut Silent, start)
    };
    let Incremental::Walked { outer, new: count } = walked else { return None };
    if own.shallow_epoch() != number {
        return None; // it leads to another stack
    }
    let leaf = own.leaf()?;
    if leaf.id == StackId::UNKNOWN
        && let Some(id) = session.interner.find(leaf.hash)
    {
        leaf.id = id;
    }
    // A path is cached when it is walked a second time: of many stacks there is no second.
    let id = match leaf.id {
        StackId::UNKNOWN => define_walked(capture, own, hashes)?,
        id => {
            if let (Some(set), Some(joined)) = (set, outer.checked_sub(1)) {
                paths.store(set, own, registers, new.get(..count).unwrap_or_default(), joined, id);
            }
            id
        }
    };
    capture.count_cut(own.cut());
    // SAFETY: the registers are the caller's, on `stack`, which is readable.
    unsafe { verify::confirmed(capture, stack, stacks, id) }
}

/// The number of a new stack, which was just walked. `None` when the generation has changed since before the walk.
#[cold]
#[inline(never)]
fn define_walked(capture: &Capture<'_>, own: &mut CachedStack, hashes: &mut [PathHash]) -> Option<StackId> {
    define(&mut CachedStackPath::new(own, hashes), capture)
}
