//! How often a thread has let go of the interpreter's lock. A thread without the lock reads its frames through the kernel, a
//! microsecond each time; as long as it has not had the lock again they are those that it has read.
//!
//! CPython keeps no such count. But from 3.8 to 3.14 a thread that lets go of the lock signals the lock's condition variable,
//! and the interpreter's module calls `pthread_cond_signal` by a slot, which is made to lead here. Nothing else of the
//! program is touched: the function is not exported, and other modules' calls do not pass it.
#![allow(unsafe_code)]

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use heapscribe_nolibc::loader::Loader;

const NOT_YET: u32 = 0;
const WATCHING: u32 = 1;
const WATCHED: u32 = 2;
const REFUSED: u32 = 3;

static STATE: AtomicU32 = AtomicU32::new(NOT_YET);
/// The lock's condition variable.
static CONDITION: AtomicUsize = AtomicUsize::new(0);
/// Where the interpreter's calls led.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// `pthread_cond_signal`, or what takes its place.
pub(crate) type Signal = unsafe extern "C" fn(usize) -> c_int;

/// Has the calls of the interpreter whose module this address is in, which stays, lead to `signal`, if they are bound by
/// now: a slot that the loader has yet to write would be written over.
#[cold]
pub(super) fn watch(in_module: usize, condition: usize, (signal, loader): (Signal, &Loader)) {
    let claim = STATE.compare_exchange(NOT_YET, WATCHING, Ordering::AcqRel, Ordering::Relaxed);
    if claim.is_ok() {
        STATE.store(try_watch(in_module, condition, signal, loader), Ordering::Release);
    }
}

fn try_watch(in_module: usize, condition: usize, signal: Signal, loader: &Loader) -> u32 {
    let Some(text) = loader.find_text(in_module) else { return REFUSED };
    // SAFETY: the interpreter's module, which stays. Its calls go on to where they led.
    unsafe {
        let Some(calls) = text.calls_of(b"pthread_cond_signal") else { return NOT_YET };
        NEXT.store(calls.target, Ordering::Release);
        CONDITION.store(condition, Ordering::Release);
        if calls.redirect(signal as *const () as usize) { WATCHED } else { REFUSED }
    }
}

/// Whether it may be tried again.
#[inline(always)]
pub(super) fn may_be_watched() -> bool {
    STATE.load(Ordering::Acquire) == NOT_YET
}

/// Whether releases are counted.
#[inline(always)]
pub(super) fn are_watched() -> bool {
    STATE.load(Ordering::Acquire) == WATCHED
}

/// Whether the lock's condition variable is signalled: the calling thread has let go of the lock.
#[inline(always)]
pub(crate) fn is_release(condition: usize) -> bool {
    condition == CONDITION.load(Ordering::Relaxed)
}

/// Signals a condition variable.
///
/// # Safety
/// * This was called in place of `pthread_cond_signal` in the interpreter's module, with this variable.
pub(crate) unsafe fn signal(condition: usize) -> c_int {
    // SAFETY: where the interpreter's calls led before, which is set before any call leads elsewhere.
    unsafe { core::mem::transmute::<usize, Signal>(NEXT.load(Ordering::Acquire))(condition) }
}
