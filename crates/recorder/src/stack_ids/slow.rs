//! Captures that the fast one leaves: new stacks, other stacks, unusual ones.
#![allow(unsafe_code)]

use heapscribe_nolibc::loader::ModuleText;
use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::StackId;

use super::bounds::CallersStack;
use super::capture::{Capture, Silent, cut};
use super::define::number_of;
use super::{bounds, verify};
use crate::defs::{CachedStackPath, UncachedPath};
use crate::modules;
use crate::state::Session;
use crate::unwind::incremental::{Incremental, Start, walk_incremental};
use crate::unwind::{Context, End, Frame, StackRange, Unwinder, Walk, full_walk};

/// Walks for one stack, each ended by a module that was unloaded meanwhile.
const WALKS_MAX: usize = 16;

/// While a module is being closed, another may be where a named one was: each is looked at.
struct Announcing<'a>(&'a Session);

impl Context for Announcing<'_> {
    fn on_new_code(&mut self, text: &ModuleText) {
        modules::announce(text, self.0);
    }
}

/// All else: new stacks, other stacks, unusual ones.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active.
#[cold]
#[inline(never)]
pub(super) unsafe fn capture_slow(mut capture: Capture<'_>) -> StackId {
    // A module that is found unloaded begins a new generation, in which the others are not named yet: walked
    // again, and named.
    for _ in 0..WALKS_MAX {
        let Some(CallersStack { range: stack, readable, index }) = bounds::find(&capture) else {
            capture.session.head.count_loss(LossReason::StackBounds);
            return StackId::UNKNOWN;
        };
        // SAFETY: the registers are the caller's, which is active, on `stack`, which is readable as far as `readable`.
        let id = unsafe {
            match index {
                _ if !capture.epoch.is_quiet() => walk_uncached(&capture, stack),
                Some(index) => walk_cached(&capture, stack, readable, index),
                None => walk_uncached(&capture, stack),
            }
        };
        if let Some(id) = id {
            return id;
        }
        capture.epoch = modules::epoch();
    }
    capture.session.head.count_loss(LossReason::StackTable);
    StackId::UNKNOWN
}

/// Walks on from what is cached of a stack. `None` when it is to be tried again.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active, on `stack`.
/// * `stack` is readable from the stack pointer to `readable`, which is beyond all that is cached of it at `index`.
unsafe fn walk_cached(
    capture: &Capture<'_>,
    stack: StackRange,
    readable: usize,
    index: bounds::Index,
) -> Option<StackId> {
    let Capture { registers, thread, session, ref unwinder, epoch } = *capture;
    // SAFETY: the cached stacks are the thread's own, and one hook at a time uses them.
    let stacks = unsafe { &mut *thread.stacks.get() };
    let walk = match index {
        bounds::Index::Own => &mut stacks.own,
        bounds::Index::Other(index) => &mut stacks.others.get_mut(index)?.as_mut()?.stack,
    };
    let (number, generation) = (epoch.number(), epoch.generation());
    if walk.epoch() != number {
        walk.forget();
    }
    // SAFETY: the registers are those of an active frame on `stack`, which is readable to `readable`, beyond all
    // that `walk` has; `walk` is of this stack, and `unchanged` is what it gives for this stack pointer.
    let walked = unsafe {
        let unchanged = walk.unchanged(registers.sp);
        let start = Start { registers, stack, readable, unchanged, epoch: number, generation };
        walk_incremental(walk, stacks.new, unwinder, &mut Silent, start)
    };
    match walked {
        Incremental::Walked { .. } => {
            let hash = walk.leaf()?.hash;
            let id = number_of(&mut CachedStackPath::new(walk, generation), hash, capture)?;
            // SAFETY: the registers are the caller's, on `stack`, which is readable as far as the walk read.
            match unsafe { verify::confirmed(capture, stack, stacks, id) } {
                Some(id) => Some(id),
                // SAFETY: the registers are the caller's, on `stack`, which is readable as far as the walk read.
                None => unsafe { walk_uncached(capture, stack) },
            }
        }
        Incremental::NoRoom if stacks.grow(&session.lock) => None,
        // SAFETY: the registers are the caller's; where only a part of the stack was known to be readable the kernel
        // is asked.
        _ => unsafe { walk_uncached(capture, bounds::ask(capture).unwrap_or(stack)) },
    }
}

/// Walks from the leaf to the outermost frame. `None` when it is to be tried again.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active, on `stack`.
/// * `stack` is readable from the stack pointer to its end.
unsafe fn walk_uncached(capture: &Capture<'_>, stack: StackRange) -> Option<StackId> {
    let Capture { thread, session, unwinder, epoch, .. } = *capture;
    // SAFETY: the room is the thread's own, and one hook at a time uses it.
    let stacks = unsafe { &mut *thread.stacks.get() };
    // SAFETY: the registers are the caller's, on `stack`, which is readable to its end.
    let walk = unsafe {
        if epoch.is_quiet() {
            walk_all(&unwinder, &mut Silent, capture, stack, stacks.frames)
        } else {
            // What is found now must not be cached, and what was cached must not be used.
            let unwinder = Unwinder { cache: None, ..unwinder };
            walk_all(&unwinder, &mut Announcing(session), capture, stack, stacks.frames)
        }
    };
    if walk.end == End::DepthLimit && stacks.grow(&session.lock) {
        return None;
    }
    let frames = stacks.frames.get(..walk.frames).unwrap_or_default();
    let mut path = UncachedPath::new(frames, stacks.hashes, epoch.generation(), cut(walk.end));
    let hash = path.hash();
    number_of(&mut path, hash, capture)
}

/// Walks by packed rules, and where these do not suffice with all registers.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active, on `stack`.
/// * `stack` is readable from the stack pointer to its end.
unsafe fn walk_all<C: Context>(
    unwinder: &Unwinder<'_>,
    context: &mut C,
    capture: &Capture<'_>,
    stack: StackRange,
    frames: &mut [Frame],
) -> Walk {
    let registers = capture.registers;
    // SAFETY: the registers are those of an active frame on `stack`, which is readable to its end; this thread is
    // inside the call of the hook, on the same stack.
    unsafe {
        let walk = unwinder.walk(context, registers, stack, frames);
        if walk.end == End::OtherRule && bounds::has_room(capture, stack) {
            return full_walk(unwinder, context, registers, stack, frames);
        }
        walk
    }
}
