//! Captures that the fast one leaves: new stacks, other stacks, unusual ones.
#![allow(unsafe_code)]

use heapscribe_nolibc::loader::{Loader, ModuleText};
use heapscribe_wire::head::LossReason;
use heapscribe_wire::limits::{DEPTH_MAX, WALK_DEPTH_MAX};

use super::bounds::CallersStack;
use super::capture::{Capture, Silent, cut};
use super::chain::{self, Leaf, walk_one};
use super::define::number_of;
use super::native::{Native, NativeStack};
use super::stacks_met::StacksMet;
use super::{bounds, verify};
use crate::definitions::{CachedStackPath, UncachedPath};
use crate::modules;
use crate::state::{CachedStacks, Index, Session};
use crate::unwind::incremental::Incremental;
use crate::unwind::{Context, End, Frame, StackRange, Unwinder, Walk, full_walk};

/// Walks for one stack, each ended by a module that was unloaded meanwhile.
const WALKS_MAX: usize = 16;

/// While a module is being closed, another may be where a named one was: each is looked at. What a frame that is
/// active is in stays, so that a walk looks once at the frames of one module that follow each other.
struct Announcing<'a> {
    loader: &'a Loader,
    session: &'a Session,
    last: Option<(ModuleText, bool)>,
}

impl Context for Announcing<'_> {
    fn on_new_code(&mut self, text: &ModuleText) -> bool {
        match self.last {
            Some((last, is_known)) if last == *text => is_known,
            _ => {
                let is_known = modules::announce(text, self.loader, self.session);
                self.last = Some((*text, is_known));
                is_known
            }
        }
    }
}

/// All else: new stacks, other stacks, unusual ones.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active.
#[cold]
#[inline(never)]
pub(super) unsafe fn capture_slow(mut capture: Capture<'_>) -> Native {
    // A module that is found unloaded begins a new generation, in which the others are not named yet: walked
    // again, and named.
    for _ in 0..WALKS_MAX {
        let Some(found) = bounds::find(&capture) else {
            capture.count_cut(Some(LossReason::StackBounds));
            return Native::unknown();
        };
        // SAFETY: the registers are the caller's, which is active, on the stack, which is readable as far as was found.
        let native = unsafe {
            match found.index {
                Some(index) if capture.epoch.is_quiet() => walk_cached(&capture, found, index),
                _ => walk_uncached(&capture, found, WALK_DEPTH_MAX).map(Native::Unusual),
            }
        };
        if let Some(native) = native {
            return native;
        }
        capture.epoch = modules::epoch();
    }
    capture.session.head.count_loss(LossReason::StackTable);
    Native::unknown()
}

/// Walks on from what is cached of a stack. `None` when it is to be tried again.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active, on the stack that was found.
/// * That is readable from the stack pointer as far as was found, which is beyond all that is cached of it at `index`.
unsafe fn walk_cached(capture: &Capture<'_>, found: CallersStack, index: Index) -> Option<Native> {
    let CallersStack { range: stack, readable, .. } = found;
    let Capture { registers, thread, .. } = *capture;
    // SAFETY: the cached stacks are the thread's own, and one hook at a time uses them.
    let stacks = unsafe { &mut *thread.stacks.get() };
    // SAFETY: the registers are the caller's, on the stack that was found, readable as far.
    let walked = unsafe { walk_one(capture, stacks, Leaf { registers, stack, readable, index })? };
    let numbered = match (walked, stacks.get(index)?.onward()) {
        (Incremental::Walked { .. }, None) => {
            let (walk, hashes) = stacks.stack_and_hashes(index)?;
            let hash = walk.leaf()?.hash;
            let id = number_of(&mut CachedStackPath::new(walk, hashes), hash, capture)?;
            Ok(NativeStack { hash, id, walked: None })
        }
        // SAFETY: the frame before is one of the caller's stack.
        (Incremental::Walked { .. }, Some(onward)) => unsafe {
            chain::numbered(capture, stacks, index, onward).map_err(|_| WALK_DEPTH_MAX).transpose()?
        },
        (Incremental::NoRoom, _) => Err(DEPTH_MAX),
        (Incremental::Unusual, _) => Err(WALK_DEPTH_MAX),
    };
    let native = match numbered {
        Ok(native) => native,
        // SAFETY: the registers are the caller's, on the stack that was found.
        Err(frames_max) => return unsafe { walk_uncached(capture, found, frames_max) }.map(Native::Unusual),
    };
    // SAFETY: the registers are the caller's, on `stack`, which is readable as far as the walk read.
    match unsafe { verify::is_confirmed(capture, stack, stacks, native) } {
        // No walk that is cached has a signal's frame.
        true if index == Index::Own => Some(Native::Usual(native)),
        true => Some(Native::Unusual(native)),
        // SAFETY: the registers are the caller's, on `stack`, which is readable as far as the walk read.
        false => unsafe { walk_uncached(capture, found, WALK_DEPTH_MAX) }.map(Native::Unusual),
    }
}

/// Walks from the leaf to the outermost frame, or to the last of `frames_max`. `None` when it is to be tried again.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active, on the stack that was found.
/// * That is readable from the stack pointer as far as was found.
unsafe fn walk_uncached(
    capture: &Capture<'_>,
    found: CallersStack,
    frames_max: usize,
) -> Option<NativeStack> {
    // SAFETY: the room is the thread's own, and one hook at a time uses it.
    let stacks = unsafe { &mut *capture.thread.stacks.get() };
    // SAFETY: the registers are the caller's, on the stack that was found, readable as far.
    let (mut walk, has_believed) = unsafe { walk_stacks(capture, found, true, stacks, frames_max) };
    let is_cut = !matches!(walk.end, End::Complete | End::DepthLimit);
    if has_believed
        && is_cut
        && let Some(range) = bounds::ask(capture)
    {
        let found = CallersStack { range, readable: range.hi, is_certain: true, ..found };
        // SAFETY: the registers are the caller's, on this stack, as the kernel says.
        (walk, _) = unsafe { walk_stacks(capture, found, false, stacks, frames_max) };
    }
    let within = stacks.frames.len().min(frames_max);
    if walk.end == End::DepthLimit && within < frames_max && stacks.grow_walk(&capture.session.lock) {
        return None;
    }
    let frames = stacks.frames.get_mut(..walk.frames).unwrap_or_default();
    let mut path = UncachedPath::new(frames, stacks.hashes, cut(walk.end));
    let hash = path.hash();
    let id = number_of(&mut path, hash, capture)?;
    Some(NativeStack { hash, id, walked: None })
}

/// Walks over all stacks that lead to each other: what came of it, and whether it believed what was known of one.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active, on the stack that was found.
/// * That is readable from the stack pointer as far as was found.
unsafe fn walk_stacks(
    capture: &Capture<'_>,
    found: CallersStack,
    believes: bool,
    stacks: &mut CachedStacks,
    frames_max: usize,
) -> (Walk, bool) {
    let Capture { unwinder, epoch, .. } = *capture;
    let current = match found.index {
        Some(Index::Other(index)) => Some(index),
        _ => None,
    };
    let within = stacks.frames.len().min(frames_max);
    let room = stacks.frames.get_mut(..within).unwrap_or_default();
    let others = &mut stacks.others;
    let has_believed = !found.is_certain;
    let stack = StackRange { lo: found.range.lo, hi: found.readable };
    let met = StacksMet { code: Silent, capture, others, current, believes, has_believed, count: 0 };
    // SAFETY: the registers are the caller's, on `stack`, which is readable to its end.
    unsafe {
        match epoch.is_quiet() {
            true => walk_all(&unwinder, met, stack, room),
            false => walk_and_announce(met, stack, room),
        }
    }
}

/// While a module is being closed: what is found now must not be cached, and what was cached must not be used.
///
/// # Safety
/// * As of [`walk_all`].
#[cold]
#[inline(never)] // its frame is not on the stack of other walks
unsafe fn walk_and_announce(
    met: StacksMet<'_, Silent>,
    stack: StackRange,
    frames: &mut [Frame],
) -> (Walk, bool) {
    let StacksMet { capture, others, current, believes, has_believed, count, .. } = met;
    let Capture { session, unwinder, .. } = *capture;
    let unwinder = Unwinder { cache: None, known: unwinder.cache, ..unwinder };
    let code = Announcing { loader: unwinder.loader, session, last: None };
    let met = StacksMet { code, capture, others, current, believes, has_believed, count };
    // SAFETY: the registers are the caller's, on `stack`, which is readable to its end.
    unsafe { walk_all(&unwinder, met, stack, frames) }
}

/// Walks by packed rules, and where these do not suffice with all registers.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active, on `stack`.
/// * `stack` is readable from the stack pointer to its end.
unsafe fn walk_all<C: Context>(
    unwinder: &Unwinder<'_>,
    mut met: StacksMet<'_, C>,
    stack: StackRange,
    frames: &mut [Frame],
) -> (Walk, bool) {
    let (capture, context) = (met.capture, &mut met);
    let registers = capture.registers;
    // SAFETY: the registers are those of an active frame on `stack`, which is readable to its end; this thread is
    // inside the call of the hook, on the same stack.
    let walk = unsafe {
        let walk = unwinder.walk(context, registers, stack, frames);
        if walk.end == End::OtherRule && bounds::has_room(capture, stack) {
            full_walk(unwinder, context, registers, stack, frames)
        } else {
            walk
        }
    };
    (walk, met.has_believed)
}
