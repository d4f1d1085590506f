//! Stacks of a thread that may not have the interpreter's lock: its frames are those that were read when it let go of the
//! lock, or are read through the kernel.
#![allow(unsafe_code)]

use core::ffi::c_int;
use core::num::NonZeroU64;

use heapscribe_wire::ids::StackId;

use super::capture::Caller;
use super::fast::native_id;
use super::native::Native;
use super::python::{known, number_of, of};
use crate::interpreter::chain::Walked;
use crate::interpreter::check::Interpreter;
use crate::interpreter::frozen::Frozen;
use crate::interpreter::lock_release;
use crate::interpreter::pages::{Paged, Pages};
use crate::interpreter::read::Kernel;
use crate::program;
use crate::state::words;
use crate::unwind::StackRange;

/// The number of a stack of a thread that may not have the lock: the frames are those that were read when it let go of it,
/// or are read through the kernel.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
#[inline(never)]
pub(super) unsafe fn without_lock(
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
    let id = match releases.and_then(|releases| frames.frozen.path(thread_state, releases)) {
        Some(Some(hash)) => known(caller, native.stack(), hash),
        // SAFETY: the registers are the caller's.
        Some(None) => Some(unsafe { native_id(caller, native.stack()) }),
        None => None,
    };
    if let Some(id) = id {
        return id;
    }
    interpreter.lock.watch_releases(on_signal, program::loader());
    // SAFETY: the registers are the caller's.
    let read = unsafe { through_kernel(caller, kernel, &mut frames.pages) };
    let source = of(interpreter, &interpreter.layout.shape, read, thread_state, session);
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
    unsafe { number_of(walked, caller, native.stack(), source) }
}

/// How to read what another thread may free. Word by word, `SSLContext.load_default_certs` took a minute: it makes 200,000
/// blocks without the lock.
///
/// # Safety
/// * The caller's registers are those of the hook's caller, which is still active.
unsafe fn through_kernel(caller: &Caller<'_>, kernel: Kernel, pages: &mut Option<&'static Pages>) -> Paged {
    let sp = caller.registers.sp;
    let stack = caller.thread.stack.get().filter(|stack| stack.contains(sp));
    let own = StackRange { lo: sp, hi: stack.map_or(sp, |stack| stack.hi) };
    // SAFETY: own: from the hook's caller on, which is still active, the thread's stack is in use.
    unsafe { Paged::new(kernel, Pages::of_thread(pages, &caller.session.lock), own) }
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
