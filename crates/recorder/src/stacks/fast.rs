//! The number of a stack that is known, almost always: all that is usual, inline in the hooks.
#![allow(unsafe_code)]

use heapscribe_wire::ids::StackId;

use super::capture::{Capture, Silent, count_cut};
use super::slow::capture_slow;
use super::verify;
use crate::capture::cached_path;
use crate::capture::incremental::{Incremental, walk_incremental};
use crate::capture::{Registers, StackRange, Unwinder, process_rules};
use crate::state::{CachedStacks, Session, Thread};
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
    let unwinder = Unwinder { loader, cache };
    let capture = Capture { registers, thread, session, unwinder, epoch };
    if let Some(stack) = thread.stack.get().filter(|stack| stack.contains(registers.sp))
        && epoch.is_quiet()
    {
        // SAFETY: the thread's own, used by one hook at a time; the registers are the caller's, in the
        // thread's own stack, which is all there.
        if let Some(id) = unsafe { on_own_stack(&capture, stack, &mut *thread.stacks.get()) } {
            return id;
        }
    }
    // SAFETY: the caller's contract.
    unsafe { capture_slow(capture) }
}

/// The number of a stack that is known. `None` for all that is rare.
///
/// # Safety
/// * As for [`stack_id`]; `stack` is the thread's own.
#[inline(always)]
unsafe fn on_own_stack(
    capture: &Capture<'_>,
    stack: StackRange,
    stacks: &mut CachedStacks,
) -> Option<StackId> {
    let Capture { registers, session, ref unwinder, epoch, .. } = *capture;
    let CachedStacks { own, new, paths, .. } = stacks;
    let (number, generation) = (epoch.number(), epoch.generation());
    if own.epoch() != number {
        return None;
    }
    // SAFETY: the caller's contract.
    let (unchanged, known) = unsafe {
        let unchanged = own.unchanged(registers.sp);
        let here = own.id_at(unchanged, registers);
        (unchanged, here.or_else(|| cached_path::find(paths, own, unchanged, registers, number)))
    };
    if let Some(id) = known {
        count_cut(own.cut(), session);
        // SAFETY: the caller's contract.
        return unsafe { verify::confirmed(capture, stack, stacks, id) };
    }
    // SAFETY: the caller's contract.
    let walked = unsafe {
        walk_incremental(
            own,
            new,
            unwinder,
            &mut Silent,
            registers,
            stack,
            stack.hi,
            unchanged,
            number,
            generation,
        )
    };
    let Incremental::Walked { outer, new: count } = walked else { return None };
    let leaf = own.leaf()?;
    if leaf.id == StackId::UNKNOWN {
        leaf.id = session.interner.find(leaf.hash)?;
    }
    let id = leaf.id;
    if let (Some(joined), 1..=cached_path::FRAMES_MAX) = (outer.checked_sub(1), count)
        && let Some(new) = new.get(..count)
        && new.iter().all(|new| new.plain().is_some())
    {
        cached_path::store(paths, own, registers, new, joined, id);
    }
    count_cut(own.cut(), session);
    // SAFETY: the caller's contract.
    unsafe { verify::confirmed(capture, stack, stacks, id) }
}
