//! Stacks with the frames of V8: native frames that run a function of JavaScript are replaced by it. All calls of V8's
//! interpreter return to one address, so that one native stack is many.
#![allow(unsafe_code)]

use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::StackId;

use super::capture::Capture;
use super::composed::{Interpreted, composed};
use super::native::Native;
use crate::interpreter::chain::Walked;
use crate::interpreter::met;
use crate::interpreter::read::Kernel;
use crate::interpreter::v8::check;
use crate::interpreter::v8::frames::JsFrames;
use crate::interpreter::v8::names::{Definer, V8Functions};
use crate::interpreter::v8::native_stack::NativeStack;
use crate::state::{CachedStacks, Index, Session};
use crate::unwind::{Frame, PathHash, cached_path, process_rules};

/// The number of a stack with its frames of JavaScript; `None` where there are none. Stacks that are not the thread's own,
/// and those with a signal's frame, stay native.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active.
#[inline(never)]
pub(super) unsafe fn with_v8(capture: &Capture<'_>, native: Native) -> Option<StackId> {
    let Native::Usual(stack) = native else { return None };
    let (session, thread) = (capture.session, capture.thread);
    // SAFETY: the cached stacks are the thread's own, and one hook at a time uses them.
    let stacks = unsafe { &*thread.stacks.get() };
    let due = if check::current().is_none() { check::due() } else { None };
    let source = |v8| {
        // SAFETY: the registers are the caller's, which is active, on the thread's own stack.
        let active = unsafe { active(capture, stacks)? };
        let kernel = Kernel { pid: session.pid };
        let (stack, functions, lock) = (&stacks.own, &session.v8, &session.lock);
        Some(NativeStack { v8, stack, active, kernel, functions, lock })
    };
    let Some(v8) = check::current() else {
        if let Some(v8) = due {
            check::check(&v8, source(&v8));
        }
        met::define(&session.interpreters, &session.definitions, &session.lock);
        return None;
    };
    let source = source(v8)?;
    // SAFETY: the frames are the thread's own, and one hook at a time uses them.
    let frames = unsafe { &mut *thread.v8.get() };
    let both = match hash(session, frames, &source) {
        Ok(None) => return None,
        Ok(Some(hash)) => {
            let key = hash.joined(stack.hash);
            // SAFETY: the registers are the caller's, and nothing is used of the cached stacks any more.
            session.interner.find(key).or_else(|| unsafe {
                let functions = &session.v8;
                composed(capture, key, Frames { frames, functions })
            })
        }
        Err(Unread) => None,
    };
    if both.is_none() {
        session.head.count_loss(LossReason::InterpretedFrames);
    }
    both
}

/// The frames cannot be read, or there is no room for them.
struct Unread;

/// How many of the cached frames of the thread's own stack are active, whose number was just found.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active, on the thread's own stack.
#[inline(always)]
unsafe fn active(capture: &Capture<'_>, stacks: &CachedStacks) -> Option<usize> {
    let Capture { registers, thread, epoch, .. } = *capture;
    let CachedStacks { own, paths, .. } = stacks;
    let stack = thread.stack.get().filter(|stack| stack.contains(registers.sp))?;
    if own.shallow_epoch() != epoch.number() {
        return None;
    }
    // SAFETY: `own` is of the stack that the registers are on, which is readable to its end; `unchanged` is what it gives
    // for this stack pointer.
    unsafe {
        let unchanged = own.unchanged(registers.sp);
        if own.leaf_at(unchanged, registers).is_some() {
            return Some(unchanged);
        }
        let key = cached_path::key_of(&process_rules::existing()?, registers, stack.hi)?;
        paths.find::<true>(key, own, unchanged, registers, epoch.number()).map(|found| found.joined + 1)
    }
}

/// The hash of all frames; `None` where there are none.
#[inline(always)]
fn hash(
    session: &Session,
    frames: &mut JsFrames,
    source: &NativeStack<'_>,
) -> Result<Option<PathHash>, Unread> {
    match frames.walk(source) {
        Walked::Known(hash) => Ok(Some(hash)),
        Walked::Nothing => Ok(None),
        walked => met_first(session, frames, source, walked).ok_or(Unread),
    }
}

/// Defines what a walk has met for the first time, and makes room: the hash of all, if there are frames.
#[cold]
#[inline(never)]
fn met_first(
    session: &Session,
    frames: &mut JsFrames,
    source: &NativeStack<'_>,
    mut walked: Walked,
) -> Option<Option<PathHash>> {
    loop {
        walked = match walked {
            Walked::Known(hash) => return Some(Some(hash)),
            Walked::Nothing => return Some(None),
            Walked::Unreadable => return None,
            Walked::New(index) => {
                let (functions, definitions) = (&session.functions, &session.definitions);
                let definer = Definer { functions, definitions, lock: &session.lock, kernel: source.kernel };
                frames.define(index, source, definer)?;
                frames.resolve(&session.v8)
            }
            Walked::NoRoom => {
                let has_grown = session.lock.hold().is_some_and(|held| frames.grow(&held));
                has_grown.then(|| frames.walk(source))?
            }
        };
    }
}

/// The frames of JavaScript on the calling thread's stack.
struct Frames<'a> {
    frames: &'a JsFrames,
    functions: &'a V8Functions,
}

impl Interpreted for Frames<'_> {
    fn len(&self) -> usize {
        (0..self.frames.len()).map(|index| self.frames.frames(index, self.functions).count()).sum()
    }

    /// They are native frames.
    fn find_calls(&mut self) -> bool {
        true
    }

    fn merge(&self, stacks: &mut CachedStacks, index: Index) -> Option<usize> {
        let Index::Own = index else { return None };
        let CachedStacks { own, frames, .. } = stacks;
        let (mut left, mut count) = (self.frames.len(), 0);
        let mut put = |frame: Frame| -> Option<()> {
            *frames.get_mut(count)? = frame;
            count += 1;
            Some(())
        };
        for (at, cached) in own.walked().iter().enumerate().rev() {
            match left.checked_sub(1).and_then(|next| self.frames.place(next)) {
                Some((native, path)) if native == at => {
                    (path == cached.hash).then_some(())?;
                    left -= 1;
                    self.frames.frames(left, self.functions).try_for_each(&mut put)?;
                }
                _ if cached.frame != Frame::default() => put(cached.frame)?,
                _ => {}
            }
        }
        (left == 0).then_some(count)
    }
}
