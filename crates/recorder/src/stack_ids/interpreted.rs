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
//! loop has its record of them. Where it has none, each call runs one frame, and they are in the same order.
#![allow(unsafe_code)]

use core::ffi::c_int;
use core::num::NonZeroU64;

use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::StackId;

use super::capture::Capture;
use super::composed::{Interpreted, composed};
use super::native::Native;
use super::php::with_php;
use super::v8::with_v8;
use crate::interpreter::chain::{InterpretedFrames, Walked};
use crate::interpreter::check::{self, Interpreter};
use crate::interpreter::frozen::Frozen;
use crate::interpreter::layout::{Chain, Known, Shaped};
use crate::interpreter::lock_release;
use crate::interpreter::met;
use crate::interpreter::pages::{Paged, Pages};
use crate::interpreter::possible;
use crate::interpreter::raw::Source;
use crate::interpreter::read::{Direct, Kernel, Read};
use crate::state::{self, CachedStacks, Index, Session, Thread, words};
use crate::unwind::{Frame, PathHash, Registers, StackRange, Unwinder, process_rules};
use crate::{modules, program};

/// Whose stack it is.
pub(super) struct Caller<'a> {
    pub registers: Registers,
    pub thread: &'a Thread,
    pub session: &'a Session,
    pub epoch: modules::Epoch,
}

impl<'a> Caller<'a> {
    fn capture(&self) -> Option<Capture<'a>> {
        let Caller { registers, thread, session, epoch } = *self;
        let unwinder = Unwinder { loader: program::loader()?, cache: process_rules::pc_cache(), known: None };
        Some(Capture { registers, thread, session, unwinder, epoch })
    }
}

/// The number of a stack with its interpreted frames; that of the native one where there are none.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
#[inline(never)]
pub(super) unsafe fn with_interpreted(native: Native, caller: &Caller<'_>) -> StackId {
    let (id, session) = (native.id(), caller.session);
    if id == StackId::UNKNOWN {
        return id;
    }
    if possible::is_php() || possible::is_v8() {
        // SAFETY: the registers are the caller's.
        let both = unsafe { caller.capture().and_then(|capture| with_other(&capture, native)) };
        if both.is_some() || !possible::is_python() {
            return both.unwrap_or(id);
        }
    }
    let (pointer, kernel) = (words::thread_pointer(), Kernel { pid: session.pid });
    let Some(interpreter) = check::current(kernel, pointer, on_free_code) else {
        met::define(&session.interpreters, &session.definitions, &session.lock);
        return id;
    };
    let Some(thread_state) = interpreter.lock.thread_state(pointer, kernel) else {
        session.head.count_loss(LossReason::InterpretedFrames);
        return id;
    };
    if thread_state == 0 {
        return id;
    }
    // SAFETY: the registers are the caller's; the frames are the thread's own, and one hook at a time uses them. Direct
    // reads: the thread has the interpreter's lock, so that nobody frees its state, its frames or their code meanwhile; it
    // is not in a signal handler that has interrupted their change.
    unsafe {
        let is_usual = matches!(native, Native::Usual(_));
        if !is_usual || !interpreter.lock.is_held_by(thread_state) {
            return without_lock(caller, native, interpreter, thread_state);
        }
        let read = Direct::new();
        match interpreter.shape {
            Some(0) => number(caller, id, of(interpreter, Known::<0>, read, thread_state, session)),
            Some(1) => number(caller, id, of(interpreter, Known::<1>, read, thread_state, session)),
            Some(2) => number(caller, id, of(interpreter, Known::<2>, read, thread_state, session)),
            Some(3) => number(caller, id, of(interpreter, Known::<3>, read, thread_state, session)),
            _ => number(caller, id, of(interpreter, &interpreter.layout.shape, read, thread_state, session)),
        }
    }
}

/// The same of PHP or V8; `None` where there are no frames of these.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active.
#[inline(always)]
unsafe fn with_other(capture: &Capture<'_>, native: Native) -> Option<StackId> {
    // SAFETY: the registers are the caller's.
    unsafe {
        let php = if possible::is_php() { with_php(capture, native) } else { None };
        php.or_else(|| if possible::is_v8() { with_v8(capture, native) } else { None })
    }
}

/// The number of a stack of a thread that may not have the lock: the frames are those that were read when it let go of it,
/// or are read through the kernel.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
#[inline(never)]
unsafe fn without_lock(
    caller: &Caller<'_>,
    native: Native,
    interpreter: &Interpreter,
    thread_state: usize,
) -> StackId {
    let (session, kernel) = (caller.session, Kernel { pid: caller.session.pid });
    // SAFETY: the frames are the thread's own, and one hook at a time uses them.
    let frames = unsafe { &mut *caller.thread.interpreted.get() };
    let is_counted =
        matches!(native, Native::Usual(_)) && interpreter.lock.are_releases_counted(thread_state);
    let releases = NonZeroU64::new(words::words().releases.get()).filter(|_| is_counted);
    let known = match releases.and_then(|releases| frames.frozen.path(thread_state, releases)) {
        Some(Some(hash)) => session.interner.find(hash.joined(native.id())),
        Some(None) => Some(native.id()),
        None => None,
    };
    if let Some(id) = known {
        return id;
    }
    interpreter.lock.watch_releases(on_signal, program::loader());
    // SAFETY: the registers are the caller's.
    let source = unsafe {
        of(interpreter, &interpreter.layout.shape, through_kernel(caller, kernel), thread_state, session)
    };
    let walked = frames.walk(source);
    let path = match walked {
        Walked::Known(hash) => Some(Some(hash)),
        Walked::Nothing => Some(None),
        Walked::New(_) | Walked::NoRoom | Walked::Unreadable => None,
    };
    if let (Some(releases), Some(path)) = (releases, path)
        && interpreter.lock.is_of(source.read, thread_state)
    {
        frames.frozen = Frozen::new(thread_state, releases, path);
    }
    // SAFETY: the registers are the caller's.
    unsafe { number_of(walked, caller, native.id(), source) }
}

/// How to read what another thread may free. Word by word, `SSLContext.load_default_certs` took a minute: it makes 200,000
/// blocks without the lock.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
unsafe fn through_kernel(caller: &Caller<'_>, kernel: Kernel) -> Paged {
    let sp = caller.registers.sp;
    let stack = caller.thread.stack.get().filter(|stack| stack.contains(sp));
    let own = StackRange { lo: sp, hi: stack.map_or(sp, |stack| stack.hi) };
    // SAFETY: the frames are the thread's own, and one hook at a time uses them. Own: from the hook's caller on, which is
    // still active, the thread's stack is in use.
    unsafe {
        let frames = &mut *caller.thread.interpreted.get();
        Paged::new(kernel, Pages::of_thread(&mut frames.pages, &caller.session.lock), own)
    }
}

/// What a walk of these frames is made of.
#[inline(always)]
fn of<'a, R: Read, S: Shaped>(
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
unsafe fn number<R: Read, S: Shaped>(
    caller: &Caller<'_>,
    native: StackId,
    source: Source<'_, R, S>,
) -> StackId {
    // SAFETY: the frames are the thread's own, and one hook at a time uses them.
    let frames = unsafe { &mut *caller.thread.interpreted.get() };
    let hash = frames.walk_same(source);
    match hash.and_then(|hash| caller.session.interner.find(hash.joined(native))) {
        Some(id) => id,
        // SAFETY: the registers are the caller's.
        None => unsafe { walked(caller, native, source) },
    }
}

/// The number of both, by a walk.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
#[inline(never)]
unsafe fn walked<R: Read, S: Shaped>(
    caller: &Caller<'_>,
    native: StackId,
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
unsafe fn number_of<R: Read, S: Shaped>(
    walked: Walked,
    caller: &Caller<'_>,
    native: StackId,
    source: Source<'_, R, S>,
) -> StackId {
    if let Walked::Known(hash) = walked
        && let Some(id) = caller.session.interner.find(hash.joined(native))
    {
        return id;
    }
    if walked == Walked::Nothing {
        return native;
    }
    // SAFETY: the registers are the caller's.
    unsafe { number_anew(caller, native, walked, source) }.unwrap_or_else(|| {
        caller.session.head.count_loss(LossReason::InterpretedFrames);
        native
    })
}

/// The number of both, of which something is new; `None` when the interpreted frames cannot be read.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
#[cold]
#[inline(never)]
unsafe fn number_anew<R: Read, S: Shaped>(
    caller: &Caller<'_>,
    native: StackId,
    walked: Walked,
    source: Source<'_, R, S>,
) -> Option<StackId> {
    let Caller { registers, thread, session, epoch } = *caller;
    // SAFETY: the frames are the thread's own, and one hook at a time uses them.
    let frames = unsafe { &mut *thread.interpreted.get() };
    let Some(hash) = define_met(session, frames, source, walked)? else { return Some(native) };
    let key = hash.joined(native);
    let known = session.interner.find(key);
    if known.is_some() {
        return known;
    }
    let (loader, cache) = (program::loader()?, process_rules::pc_cache());
    let unwinder = Unwinder { loader, cache, known: None };
    let capture = Capture { registers, thread, session, unwinder, epoch };
    // SAFETY: the registers are the caller's.
    unsafe { composed(&capture, key, Frames { frames, source }) }
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
        let CachedStacks { own, others, frames, .. } = stacks;
        let native = match index {
            Index::Own => &*own,
            Index::Other(index) => &others.get(index)?.stack,
        };
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

/// Takes the place of `pthread_cond_signal`: by this the interpreter says that the calling thread has let go of its lock.
///
/// # Safety
/// * The interpreter has called this in place of that function.
unsafe extern "C" fn on_signal(condition: usize) -> c_int {
    if lock_release::is_release(condition) {
        let releases = &words::words().releases;
        releases.set(releases.get() + 1);
    }
    // SAFETY: the interpreter has called this with the variable.
    unsafe { lock_release::signal(condition) }
}
