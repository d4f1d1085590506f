//! Stacks with the frames of an interpreter: the number of the native stack and the hash of the interpreted frames lead to
//! the number of both together. Only when that is new the two are put together, frame by frame.
//!
//! ```text
//!   native        _start  main  loop       sorted  loop  list_append  malloc's caller
//!   interpreted                  |- serve           '- key
//!                                '- handle
//!   both          _start  main  loop  serve  handle  sorted  loop  key  list_append  malloc's caller
//! ```
//! Interpreted frames stand inside the call of the interpreter's loop that runs them: that in whose part of the stack the
//! loop has its record of them.
#![allow(unsafe_code)]

use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::StackId;

use super::bounds;
use super::capture::Capture;
use super::chain::{Leaf, walk_one};
use super::define::numbered;
use super::native::Native;
use crate::definitions::UncachedPath;
use crate::interpreter::chain::{InterpretedFrames, Source, Walked};
use crate::interpreter::read::{Direct, Kernel, Read};
use crate::interpreter::{check, met};
use crate::modules;
use crate::state::{self, CachedStacks, Index, words};
use crate::unwind::incremental::Incremental;
use crate::unwind::{Frame, PathHash};

/// The number of a stack with its interpreted frames; that of the native one where there are none.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active.
#[inline(never)]
pub(super) unsafe fn with_interpreted(capture: &Capture<'_>, native: Native) -> StackId {
    let (id, session) = (native.id(), capture.session);
    if !session.reads_interpreters || id == StackId::UNKNOWN {
        return id;
    }
    let (pointer, kernel) = (words::thread_pointer(), Kernel { pid: session.pid });
    let Some(interpreter) = check::current(kernel, pointer, on_free_code) else {
        met::define(&session.interpreters, &session.definitions, &session.lock);
        return id;
    };
    let thread_state = interpreter.thread_state(pointer);
    if thread_state == 0 {
        return id;
    }
    let (layout, functions) = (&interpreter.layout, &session.functions);
    // SAFETY: the registers are the caller's. Direct reads: the thread has the interpreter's lock, so that nobody frees
    // its state, its frames or their code meanwhile; it is not in a signal handler that has interrupted their change.
    let both = unsafe {
        if matches!(native, Native::Usual(_)) && interpreter.has_lock(thread_state) {
            let read = Direct::new();
            number(capture, id, Source { read, layout, thread_state, functions })
        } else {
            number(capture, id, Source { read: kernel, layout, thread_state, functions })
        }
    };
    both.unwrap_or_else(|| {
        session.head.count_loss(LossReason::InterpretedFrames);
        id
    })
}

/// The number of both; `None` when the interpreted frames cannot be read, or there is no room for them.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active.
#[inline(always)]
unsafe fn number<R: Read>(capture: &Capture<'_>, native: StackId, source: Source<'_, R>) -> Option<StackId> {
    let session = capture.session;
    // SAFETY: the frames are the thread's own, and one hook at a time uses them.
    let frames = unsafe { &mut *capture.thread.interpreted.get() };
    let hash = match frames.walk(source) {
        Walked::Known(hash) => hash,
        Walked::Nothing => return Some(native),
        walked => match met(capture, frames, source, walked)? {
            Some(hash) => hash,
            None => return Some(native),
        },
    };
    let key = hash.joined(native);
    match session.interner.find(key) {
        Some(id) => Some(id),
        // SAFETY: the registers are the caller's.
        None => unsafe { composed(capture, key, frames, source) },
    }
}

/// Defines what a walk has met for the first time, and makes room: the hash of all, if there are frames.
#[cold]
#[inline(never)]
fn met<R: Read>(
    capture: &Capture<'_>,
    frames: &mut InterpretedFrames,
    source: Source<'_, R>,
    mut walked: Walked,
) -> Option<Option<PathHash>> {
    let session = capture.session;
    loop {
        walked = match walked {
            Walked::Known(hash) => return Some(Some(hash)),
            Walked::Nothing => return Some(None),
            Walked::Unreadable => return None,
            Walked::New(index) => {
                let (lock, definitions) = (&session.lock, &session.definitions);
                let Source { read, layout, functions, .. } = source;
                let code = frames.code(index)?;
                let frame = functions.define(read, layout, code, definitions, lock)?;
                frames.define(index, frame, source)
            }
            Walked::NoRoom => {
                let has_grown = session.lock.hold().is_some_and(|held| frames.grow(&held));
                has_grown.then(|| frames.walk(source))?
            }
        };
    }
}

/// Puts both stacks together.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active.
#[cold]
#[inline(never)]
unsafe fn composed<R: Read>(
    capture: &Capture<'_>,
    key: PathHash,
    frames: &mut InterpretedFrames,
    source: Source<'_, R>,
) -> Option<StackId> {
    let Capture { registers, thread, session, epoch, .. } = *capture;
    let found = bounds::find(capture)?;
    let index = found.index.filter(|_| epoch.is_quiet() && frames.find_calls(source))?;
    let leaf = Leaf { registers, stack: found.range, readable: found.readable, index };
    // SAFETY: the cached stacks are the thread's own, and one hook at a time uses them; the registers are the caller's,
    // on the stack that was found, readable as far.
    let (stacks, walked) = unsafe {
        let stacks = &mut *thread.stacks.get();
        let walked = walk_one(capture, stacks, leaf)?;
        (stacks, walked)
    };
    let native = stacks.get(index).filter(|stack| stack.onward().is_none())?;
    let (cut, all) = (native.cut(), native.walked().len() + frames.len());
    matches!(walked, Incremental::Walked { .. }).then_some(())?;
    while stacks.frames.len() < all {
        stacks.grow_walk(&session.lock).then_some(())?;
    }
    let count = merge(stacks, index, frames)?;
    let mut path = UncachedPath::new(stacks.frames.get_mut(..count)?, stacks.hashes, cut);
    let hash = path.hash();
    let id = numbered(&mut path, hash, capture).filter(|id| *id != StackId::UNKNOWN)?;
    let held = session.lock.hold()?;
    if modules::epoch().generation() == epoch.generation() {
        session.interner.alias(key, hash, id, &held);
    }
    Some(id)
}

/// Writes the frames of both, the leaf first: how many. `None` when interpreted ones belong to no call of the native stack.
fn merge(stacks: &mut CachedStacks, index: Index, interpreted: &InterpretedFrames) -> Option<usize> {
    let CachedStacks { own, others, frames, .. } = stacks;
    let native = match index {
        Index::Own => &*own,
        Index::Other(index) => &others.get(index)?.stack,
    };
    let (mut left, mut count) = (interpreted.len(), 0);
    let mut put = |frame: Frame| -> Option<()> {
        *frames.get_mut(count)? = frame;
        count += 1;
        Some(())
    };
    for (at, cached) in native.walked().iter().enumerate().rev() {
        let begin = native.slot(at)?.wrapping_add(8);
        while let Some(next) = left.checked_sub(1) {
            let (frame, call) = interpreted.frame(next)?;
            if call >= native.slot_before(at) {
                break; // of a call further out
            }
            if call < begin {
                return None;
            }
            frame.map_or(Some(()), &mut put)?;
            left = next;
        }
        if cached.frame != Frame::default() {
            put(cached.frame)?;
        }
    }
    (left == 0).then_some(count)
}

/// Takes the place of what frees a code object: it is forgotten, so that another one in its place is told apart.
///
/// # Safety
/// * `code` is a code object that the interpreter frees, and this was called in place of what does so.
unsafe extern "C" fn on_free_code(code: usize) {
    if let Some(session) = state::current() {
        session.functions.forget(code);
    }
    // SAFETY: the interpreter has called this to free the object.
    unsafe { check::free_code(code) };
}
