//! Stacks with the frames of an interpreter: the hashes of the native stack and of the interpreted frames lead to the
//! number of both together. Only when that is new the two are put together, frame by frame. Under CPython the native
//! stack gets no number of its own: it would be in no event.
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

use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::StackId;

use super::capture::Caller;
use super::fast::{native, numbered};
use super::native::Native;
use super::php::with_php;
use super::python::{number, of};
use super::v8::with_v8;
use super::without_lock::without_lock;
use crate::interpreter::check;
use crate::interpreter::layout::Known;
use crate::interpreter::met;
use crate::interpreter::possible;
use crate::interpreter::read::{Direct, Kernel};
use crate::platform::thread_pointer::thread_pointer;
use crate::state;

/// The number of the calling thread's stack with its interpreted frames; that of the native one where there are none.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
#[inline(never)]
pub(super) unsafe fn stack_id(caller: &Caller<'_>) -> StackId {
    // SAFETY: the registers are the caller's.
    unsafe {
        if possible::is_php() || possible::is_v8() {
            let native = numbered(caller);
            let both = if native.id() == StackId::UNKNOWN { None } else { with_other(caller, native) };
            if both.is_some() || !possible::is_python() {
                return both.unwrap_or(native.id());
            }
        }
        with_python(caller).unwrap_or_else(|| numbered(caller).id())
    }
}

/// The number of a stack with its frames of CPython; `None` where the thread runs none.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
#[inline(always)]
unsafe fn with_python(caller: &Caller<'_>) -> Option<StackId> {
    let session = caller.session;
    let (pointer, kernel) = (thread_pointer(), Kernel { pid: session.pid });
    let Some(interpreter) = check::current(kernel, pointer, on_free_code) else {
        met::define(&session.interpreters, &session.definitions, &session.lock);
        return None;
    };
    let Some(thread_state) = interpreter.lock.thread_state(pointer, kernel) else {
        session.head.count_loss(LossReason::InterpretedFrames);
        return None;
    };
    if thread_state == 0 {
        return None;
    }
    // SAFETY: the registers are the caller's; the frames are the thread's own, and one hook at a time uses them. Direct
    // reads: the thread has the interpreter's lock, so that nobody frees its state, its frames or their code meanwhile; it
    // is not in a signal handler that has interrupted their change.
    unsafe {
        let stack = match native::<false>(caller) {
            Native::Usual(stack) if interpreter.lock.is_held_by(thread_state) => stack,
            Native::Unusual(stack) if stack.id == StackId::UNKNOWN => return Some(stack.id),
            native => return Some(without_lock(caller, native, interpreter, thread_state)),
        };
        let read = Direct::new();
        Some(match interpreter.shape {
            Some(0) => number(caller, stack, of(interpreter, Known::<0>, read, thread_state, session)),
            Some(1) => number(caller, stack, of(interpreter, Known::<1>, read, thread_state, session)),
            Some(2) => number(caller, stack, of(interpreter, Known::<2>, read, thread_state, session)),
            Some(3) => number(caller, stack, of(interpreter, Known::<3>, read, thread_state, session)),
            _ => {
                number(caller, stack, of(interpreter, &interpreter.layout.shape, read, thread_state, session))
            }
        })
    }
}

/// The same of PHP or V8; `None` where there are no frames of these.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
#[inline(always)]
unsafe fn with_other(caller: &Caller<'_>, native: Native) -> Option<StackId> {
    let capture = caller.capture()?;
    // SAFETY: the registers are the caller's.
    unsafe {
        let php = if possible::is_php() { with_php(&capture, native) } else { None };
        php.or_else(|| if possible::is_v8() { with_v8(&capture, native) } else { None })
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
