//! The number of a stack that is known, almost always: all that is usual, inline in the hooks.
#![allow(unsafe_code)]

use heapscribe_wire::ids::StackId;

use super::capture::{Capture, Silent};
use super::define::define;
use super::interpreted::with_interpreted;
use super::native::Native;
use super::python::Caller;
use super::slow::capture_slow;
use super::verify;
use crate::definitions::CachedStackPath;
use crate::interpreter::possible;
use crate::state::{CachedStacks, Session, Thread, count_cut_stack};
use crate::unwind::cached::CachedStack;
use crate::unwind::cached_path::{self, SetIndex};
use crate::unwind::incremental::{Incremental, Start, walk_incremental};
use crate::unwind::{PathHash, Registers, StackRange, Unwinder, process_rules};
use crate::{modules, program};

/// The number of the calling thread's stack.
///
/// # Safety
/// * `registers` are those of the hook's caller, which is still active.
#[inline(always)]
pub(crate) unsafe fn stack_id(registers: Registers, thread: &Thread, session: &Session) -> StackId {
    let epoch = modules::epoch();
    // SAFETY: the registers are the caller's, which is active.
    unsafe {
        let native = match look_up(registers, thread, session, epoch) {
            Ok(id) if session.verify_every == 0 => Native::Usual(id),
            Ok(id) => verified(id, registers, thread, session, epoch),
            Err(looked) => capture(looked, registers, thread, session, epoch),
        };
        if possible::is_any() && session.reads_interpreters {
            with_interpreted(native, &Caller { registers, thread, session, epoch })
        } else {
            native.id()
        }
    }
}

/// What a look at the cached stack has told before it is walked.
#[derive(Clone, Copy)]
struct Looked {
    /// The thread's own stack.
    stack: StackRange,
    /// What [`CachedStack::unchanged`] gave.
    unchanged: usize,
    /// Where the path is to be cached.
    set: Option<SetIndex>,
}

/// The number of the stack, if it is the cached one, or by a cached path. Else what was found out, if the thread is on
/// its own stack, of which something is cached.
///
/// # Safety
/// * `registers` are those of the hook's caller, which is still active.
#[inline(always)]
unsafe fn look_up(
    registers: Registers,
    thread: &Thread,
    session: &Session,
    epoch: modules::Epoch,
) -> Result<StackId, Option<Looked>> {
    let stack = thread.stack.get().filter(|stack| stack.contains(registers.sp)).ok_or(None)?;
    // SAFETY: the cached stacks are the thread's own, and one hook at a time uses them.
    let CachedStacks { own, paths, .. } = unsafe { &*thread.stacks.get() };
    // What is cached was walked while no module was closed, so that the epoch is such a one if they are equal.
    if own.shallow_epoch() != epoch.number() {
        return Err(None);
    }
    // SAFETY: `own` is of the stack that the registers are on, which is readable to its end; `unchanged` is what
    // it gives for this stack pointer.
    let (looked, known) = unsafe {
        let unchanged = own.unchanged(registers.sp);
        match own.id_at(unchanged, registers) {
            Some(id) => (Looked { stack, unchanged, set: None }, Some(id)),
            None => {
                let rules = process_rules::existing();
                let set = rules.and_then(|rules| cached_path::set_of(&rules, registers, stack.hi));
                let found = set.and_then(|set| paths.find(set, own, unchanged, registers, epoch.number()));
                (Looked { stack, unchanged, set }, found.map(|found| found.id))
            }
        }
    };
    let id = known.ok_or(Some(looked))?;
    if let Some(reason) = own.cut() {
        count_cut_stack(thread.record, reason, session.head);
    }
    Ok(id)
}

/// Walks the stack.
///
/// # Safety
/// * `registers` are those of the hook's caller, which is still active, and `looked` is what was found there.
#[inline(never)]
unsafe fn capture(
    looked: Option<Looked>,
    registers: Registers,
    thread: &Thread,
    session: &Session,
    epoch: modules::Epoch,
) -> Native {
    let (Some(loader), cache) = (program::loader(), process_rules::pc_cache()) else {
        return Native::Unusual(StackId::UNKNOWN);
    };
    let unwinder = Unwinder { loader, cache, known: None };
    let capture = Capture { registers, thread, session, unwinder, epoch };
    // SAFETY: the registers are the caller's, which is active, in the thread's own stack, which is readable to
    // its end; the cached stacks are the thread's own, and one hook at a time uses them.
    unsafe {
        let walked = looked.and_then(|looked| walk_own(&capture, looked, &mut *thread.stacks.get()));
        walked.map_or_else(|| capture_slow(capture), Native::Usual)
    }
}

/// The number that was found, when it is right, or no check of it is due; else the right one.
///
/// # Safety
/// * `registers` are those of the hook's caller, which is still active, on the thread's own stack.
#[cold]
#[inline(never)]
unsafe fn verified(
    id: StackId,
    registers: Registers,
    thread: &Thread,
    session: &Session,
    epoch: modules::Epoch,
) -> Native {
    let (Some(loader), cache) = (program::loader(), process_rules::pc_cache()) else {
        return Native::Usual(id);
    };
    let unwinder = Unwinder { loader, cache, known: None };
    let capture = Capture { registers, thread, session, unwinder, epoch };
    let Some(stack) = thread.stack.get() else { return Native::Usual(id) };
    // SAFETY: the registers are the caller's, which is active, on `stack`, which is readable to its end; one hook at a
    // time uses the cached stacks.
    unsafe {
        let confirmed = verify::confirmed(&capture, stack, &mut *thread.stacks.get(), id);
        confirmed.map_or_else(|| capture_slow(capture), Native::Usual)
    }
}

/// The number of a stack that is walked as far as the first frame that is known. `None` for all that is unusual.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active, on the thread's own stack, which is
///   readable to its end.
/// * `stacks.own` is of that, and `looked` is what it gives for this stack pointer.
#[inline(always)]
unsafe fn walk_own(capture: &Capture<'_>, looked: Looked, stacks: &mut CachedStacks) -> Option<StackId> {
    let Capture { registers, session, ref unwinder, epoch, .. } = *capture;
    let CachedStacks { own, new, paths, hashes, .. } = stacks;
    let Looked { stack, unchanged, set } = looked;
    let epoch = epoch.number();
    // SAFETY: the registers are those of an active frame on `stack`, which is readable to its end; `own` is of it,
    // and `unchanged` is what it gives for this stack pointer.
    let walked = unsafe {
        let start = Start { registers, stack, readable: stack.hi, unchanged, epoch };
        walk_incremental::<_, false>(own, new, unwinder, &mut Silent, start)
    };
    let Incremental::Walked { outer, new: count } = walked else { return None };
    if own.shallow_epoch() != epoch {
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
