//! A native stack that is known, almost always: all that is usual, inline in the hooks.
#![allow(unsafe_code)]

use heapscribe_wire::ids::StackId;

use super::capture::{Caller, Capture, Silent};
use super::define::define;
use super::native::{Native, NativeStack, WalkedPath};
use super::slow::capture_slow;
use super::verify;
use crate::definitions::CachedStackPath;
use crate::state::{CachedStacks, count_cut_stack};
use crate::unwind::cached::CachedStack;
use crate::unwind::cached_path::{self, PathKey};
use crate::unwind::incremental::{Incremental, Start, walk_incremental};
use crate::unwind::{PathHash, StackRange, process_rules};

/// The number of the native stack.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
#[inline(always)]
pub(super) unsafe fn native_number(caller: &Caller<'_>) -> StackId {
    // SAFETY: the registers are the caller's, which is active.
    unsafe {
        match look_up::<true>(caller) {
            Ok(stack) if caller.session.verify_every == 0 => stack.id,
            looked => number_apart(looked, caller),
        }
    }
}

/// The native stack. Not `NUMBERED`, it need not have a number: where interpreted frames stand in it, that of both is
/// wanted and no other.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
#[inline(always)]
pub(super) unsafe fn native<const NUMBERED: bool>(caller: &Caller<'_>) -> Native {
    // SAFETY: the registers are the caller's, which is active.
    unsafe {
        match look_up::<NUMBERED>(caller) {
            Ok(stack) if caller.session.verify_every == 0 => Native::Usual(stack),
            looked => native_apart::<NUMBERED>(looked, caller),
        }
    }
}

/// What a look at the cached stack gives.
type LookedUp = Result<NativeStack, Option<Looked>>;

/// The number, apart from what is usual. It is small, so that hooks take no more of the program's stack: with the whole
/// of it a first call took 3,744 bytes.
///
/// # Safety
/// * As of [`captured`].
#[inline(never)]
unsafe fn number_apart(looked: LookedUp, caller: &Caller<'_>) -> StackId {
    // SAFETY: as the caller says.
    unsafe { captured::<true>(looked, caller) }.id()
}

/// The native stack, apart from what is usual.
///
/// # Safety
/// * As of [`captured`].
#[inline(never)]
unsafe fn native_apart<const NUMBERED: bool>(looked: LookedUp, caller: &Caller<'_>) -> Native {
    // SAFETY: as the caller says.
    unsafe { captured::<NUMBERED>(looked, caller) }
}

/// The stack that was found, checked, or the one that is walked.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active, and `looked` is what was found there.
#[inline(always)]
unsafe fn captured<const NUMBERED: bool>(looked: LookedUp, caller: &Caller<'_>) -> Native {
    // SAFETY: the registers are the caller's, which is active.
    unsafe {
        match looked {
            Ok(stack) => verified(stack, caller),
            Err(looked) => capture::<NUMBERED>(looked, caller),
        }
    }
}

/// The native stack, with its number.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
#[inline(never)]
pub(super) unsafe fn numbered(caller: &Caller<'_>) -> Native {
    // SAFETY: the registers are the caller's.
    unsafe { native::<true>(caller) }
}

/// The number of the native stack, which may not have been asked for yet.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
pub(super) unsafe fn native_id(caller: &Caller<'_>, found: NativeStack) -> StackId {
    // SAFETY: the registers are the caller's.
    if found.id == StackId::UNKNOWN { unsafe { numbered(caller) }.id() } else { found.id }
}

/// What a look at the cached stack has told before it is walked.
#[derive(Clone, Copy)]
struct Looked {
    /// The thread's own stack.
    stack: StackRange,
    /// What [`CachedStack::unchanged`] gave.
    unchanged: usize,
    /// What its path is sought by when it is cached.
    key: Option<PathKey>,
}

/// The stack, if it is the cached one, or by a cached path. Else what was found out, if the thread is on its own stack,
/// of which something is cached.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
#[inline(always)]
unsafe fn look_up<const NUMBERED: bool>(caller: &Caller<'_>) -> LookedUp {
    let Caller { registers, thread, session, epoch } = *caller;
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
        let leaf = own.leaf_at(unchanged, registers);
        match leaf.filter(|leaf| !NUMBERED || leaf.id != StackId::UNKNOWN) {
            Some(leaf) => (Looked { stack, unchanged, key: None }, Some((leaf.hash, leaf.id))),
            None => {
                let rules = process_rules::existing();
                let key = rules.and_then(|rules| cached_path::key_of(&rules, registers, stack.hi));
                let found = match key {
                    Some(key) => paths.find::<NUMBERED>(key, own, unchanged, registers, epoch.number()),
                    None => None,
                };
                (Looked { stack, unchanged, key }, found.map(|found| (found.hash, found.id)))
            }
        }
    };
    let (hash, id) = known.ok_or(Some(looked))?;
    if let Some(reason) = own.cut() {
        count_cut_stack(thread.record, reason, session.head);
    }
    Ok(NativeStack { hash, id, walked: None })
}

/// Walks the stack.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active, and `looked` is what was found there.
#[inline(always)]
unsafe fn capture<const NUMBERED: bool>(looked: Option<Looked>, caller: &Caller<'_>) -> Native {
    let Some(capture) = caller.capture() else { return Native::unknown() };
    // SAFETY: the registers are the caller's, which is active, in the thread's own stack, which is readable to
    // its end; the cached stacks are the thread's own, and one hook at a time uses them.
    unsafe {
        let stacks = caller.thread.stacks.get();
        let walked = looked.and_then(|looked| walk_own::<NUMBERED>(&capture, looked, &mut *stacks));
        walked.map_or_else(|| capture_slow(capture), Native::Usual)
    }
}

/// The stack that was found, when it is right, or no check of it is due; else the right one.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active, on the thread's own stack.
#[cold]
#[inline(never)]
unsafe fn verified(found: NativeStack, caller: &Caller<'_>) -> Native {
    let Some(capture) = caller.capture() else { return Native::Usual(found) };
    let Some(stack) = caller.thread.stack.get() else { return Native::Usual(found) };
    // SAFETY: the registers are the caller's, which is active, on `stack`, which is readable to its end; one hook at a
    // time uses the cached stacks.
    unsafe {
        let is_confirmed = verify::is_confirmed(&capture, stack, &mut *caller.thread.stacks.get(), found);
        if is_confirmed { Native::Usual(found) } else { capture_slow(capture) }
    }
}

/// A stack that is walked as far as the first frame that is known. `None` for all that is unusual.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active, on the thread's own stack, which is
///   readable to its end.
/// * `stacks.own` is of that, and `looked` is what it gives for this stack pointer.
#[inline(always)]
unsafe fn walk_own<const NUMBERED: bool>(
    capture: &Capture<'_>,
    looked: Looked,
    stacks: &mut CachedStacks,
) -> Option<NativeStack> {
    let Capture { registers, session, ref unwinder, epoch, .. } = *capture;
    let CachedStacks { own, new, hashes, .. } = stacks;
    let Looked { stack, unchanged, key } = looked;
    let epoch = epoch.number();
    // SAFETY: the registers are those of an active frame on `stack`, which is readable to its end; `own` is of it,
    // and `unchanged` is what it gives for this stack pointer.
    let walked = unsafe {
        let start = Start { registers, stack, readable: stack.hi, unchanged, epoch };
        walk_incremental::<_, false>(own, new, unwinder, &mut Silent, start)
    };
    let Incremental::Walked { outer, new } = walked else { return None };
    if own.shallow_epoch() != epoch {
        return None; // it leads to another stack
    }
    let leaf = own.leaf()?;
    if NUMBERED
        && leaf.id == StackId::UNKNOWN
        && let Some(id) = session.interner.find(leaf.hash)
    {
        leaf.id = id;
    }
    let walked = key.zip(outer.checked_sub(1));
    let walked = walked.map(|(key, joined)| WalkedPath { key, joined: joined as u32, new: new as u32 });
    let mut found = NativeStack { hash: leaf.hash, id: leaf.id, walked };
    if NUMBERED {
        match leaf.id {
            StackId::UNKNOWN => found.id = define_walked(capture, own, hashes)?,
            _ => found.cache_path(stacks, registers),
        }
        found.walked = None;
    }
    capture.count_cut(stacks.own.cut());
    // SAFETY: the registers are the caller's, on `stack`, which is readable.
    unsafe { verify::is_confirmed(capture, stack, stacks, found) }.then_some(found)
}

/// The number of a new stack, which was just walked. `None` when the generation has changed since before the walk.
#[cold]
#[inline(never)]
fn define_walked(capture: &Capture<'_>, own: &mut CachedStack, hashes: &mut [PathHash]) -> Option<StackId> {
    define(&mut CachedStackPath::new(own, hashes), capture)
}
