//! A native stack and the frames of CPython in it: the number of both, by the hash of the frames, which mostly are those of
//! the last walk.
#![allow(unsafe_code)]

use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::StackId;

use super::capture::Caller;
use super::composed::{Interpreted, composed};
use super::fast::native_id;
use super::native::NativeStack;
use crate::interpreter::chain::{InterpretedFrames, Walked};
use crate::interpreter::check::Interpreter;
use crate::interpreter::layout::{Chain, Shaped};
use crate::interpreter::raw::Source;
use crate::interpreter::read::Read;
use crate::state::{CachedStacks, Index, Session};
use crate::unwind::{Frame, PathHash};

/// What a walk of these frames is made of.
#[inline(always)]
pub(super) fn of<'a, R: Read, S: Shaped>(
    interpreter: &'a Interpreter,
    shape: S,
    read: R,
    thread_state: usize,
    session: &'a Session,
) -> Source<'a, R, S> {
    let Interpreter { ref layout, loop_code, .. } = *interpreter;
    Source { read, shape, layout, loop_code, thread_state, functions: &session.functions }
}

/// The number of both; that of the native one where the interpreted frames cannot be read, or there is no room for them.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
#[inline(always)]
pub(super) unsafe fn number<R: Read, S: Shaped>(
    caller: &Caller<'_>,
    native: NativeStack,
    source: Source<'_, R, S>,
) -> StackId {
    // SAFETY: the frames are the thread's own, and one hook at a time uses them.
    let frames = unsafe { &mut *caller.thread.interpreted.get() };
    let hash = frames.walk_same(source);
    match hash.and_then(|hash| known(caller, native, hash)) {
        Some(id) => id,
        // SAFETY: the registers are the caller's.
        None => unsafe { walked(caller, native, source) },
    }
}

/// The number of both, if it is known; then the native stack's path is one that is walked again.
#[inline(always)]
pub(super) fn known(caller: &Caller<'_>, native: NativeStack, hash: PathHash) -> Option<StackId> {
    let id = caller.session.interner.find(hash.joined(native.hash))?;
    if native.walked.is_some() {
        // SAFETY: the cached stacks are the thread's own, and one hook at a time uses them.
        native.cache_path(unsafe { &mut *caller.thread.stacks.get() }, caller.registers);
    }
    Some(id)
}

/// The number of both, by a walk.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
#[inline(never)]
unsafe fn walked<R: Read, S: Shaped>(
    caller: &Caller<'_>,
    native: NativeStack,
    source: Source<'_, R, S>,
) -> StackId {
    // SAFETY: the frames are the thread's own, and one hook at a time uses them.
    let frames = unsafe { &mut *caller.thread.interpreted.get() };
    let walked = frames.walk(source);
    // SAFETY: the registers are the caller's.
    unsafe { number_of(walked, caller, native, source) }
}

/// The number of both, of frames that were just walked.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
#[inline(always)]
pub(super) unsafe fn number_of<R: Read, S: Shaped>(
    walked: Walked,
    caller: &Caller<'_>,
    native: NativeStack,
    source: Source<'_, R, S>,
) -> StackId {
    if let Walked::Known(hash) = walked
        && let Some(id) = known(caller, native, hash)
    {
        return id;
    }
    // SAFETY: the registers are the caller's.
    unsafe {
        if walked == Walked::Nothing {
            return native_id(caller, native);
        }
        match number_anew(caller, native, walked, source) {
            Some(Some(id)) => id,
            Some(None) => native_id(caller, native),
            None => {
                let id = native_id(caller, native);
                if id != StackId::UNKNOWN {
                    caller.session.head.count_loss(LossReason::InterpretedFrames);
                }
                id
            }
        }
    }
}

/// The number of both, of which something is new; `None` when the interpreted frames cannot be read, and within when there
/// are none.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
#[cold]
#[inline(never)]
unsafe fn number_anew<R: Read, S: Shaped>(
    caller: &Caller<'_>,
    native: NativeStack,
    walked: Walked,
    source: Source<'_, R, S>,
) -> Option<Option<StackId>> {
    // SAFETY: the frames are the thread's own, and one hook at a time uses them.
    let frames = unsafe { &mut *caller.thread.interpreted.get() };
    let Some(hash) = define_met(caller.session, frames, source, walked)? else { return Some(None) };
    if let Some(id) = known(caller, native, hash) {
        return Some(Some(id));
    }
    let key = hash.joined(native.hash);
    // SAFETY: the registers are the caller's.
    unsafe { composed(&caller.capture()?, key, Frames { frames, source }) }.map(Some)
}

/// Defines what a walk has met for the first time, and makes room: the hash of all, if there are frames. Holds the lock once
/// for all of it, since to take it costs two system calls.
fn define_met<R: Read, S: Shaped>(
    session: &Session,
    frames: &mut InterpretedFrames,
    source: Source<'_, R, S>,
    mut walked: Walked,
) -> Option<Option<PathHash>> {
    let mut held = None;
    loop {
        let is_done = !matches!(walked, Walked::New(_) | Walked::NoRoom);
        if held.is_none() && !is_done {
            held = Some(session.lock.hold()?);
        }
        walked = match (walked, &held) {
            (Walked::Known(hash), _) => return Some(Some(hash)),
            (Walked::Nothing, _) => return Some(None),
            (Walked::New(index), Some(held)) => {
                let Source { read, layout, functions, .. } = source;
                let code = frames.code(index)?;
                let frame = functions.define(read, layout, code, &session.definitions, held)?;
                frames.define(index, frame, source)
            }
            (Walked::NoRoom, Some(held)) => frames.grow(held).then(|| frames.walk(source))?,
            _ => return None,
        };
    }
}

/// The frames of CPython on the calling thread's stack.
struct Frames<'a, R, S> {
    frames: &'a mut InterpretedFrames,
    source: Source<'a, R, S>,
}

impl<R: Read, S: Shaped> Interpreted for Frames<'_, R, S> {
    fn len(&self) -> usize {
        self.frames.len()
    }

    fn find_calls(&mut self) -> bool {
        self.frames.find_calls(self.source)
    }

    /// Where the loop has no record of its calls each of them runs the next frame, and there are as many; else a frame
    /// knows its call.
    fn merge(&self, stacks: &mut CachedStacks, index: Index) -> Option<usize> {
        let Source { shape, loop_code, .. } = self.source;
        let loop_code = (shape.shape().chain == Chain::Unrecorded).then_some(loop_code);
        let (native, frames) = stacks.stack_and_frames(index)?;
        let (mut left, mut count) = (self.frames.len(), 0);
        let mut put = |frame: Frame| -> Option<()> {
            *frames.get_mut(count)? = frame;
            count += 1;
            Some(())
        };
        for (at, cached) in native.walked().iter().enumerate().rev() {
            let begin = native.slot(at)?.wrapping_add(8);
            if let Some((first, end)) = loop_code {
                // The call is the instruction before.
                if (first..end).contains(&(cached.frame.address() as usize).wrapping_sub(1)) {
                    left = left.checked_sub(1)?;
                    put(self.frames.frame(left)?.0?)?;
                }
            } else {
                while let Some(next) = left.checked_sub(1) {
                    let (frame, call) = self.frames.frame(next)?;
                    if let Some(frame) = frame {
                        if call >= native.slot_before(at) {
                            break; // of a call further out
                        }
                        put(frame).filter(|()| call >= begin)?;
                    }
                    left = next;
                }
            }
            if cached.frame != Frame::default() {
                put(cached.frame)?;
            }
        }
        (left == 0).then_some(count)
    }
}
