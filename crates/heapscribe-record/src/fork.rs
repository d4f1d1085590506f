//! Fork: a child never writes its parent's session.
//!
//! The word that says "recording" is zero in a child (MADV_WIPEONFORK), and the session's mappings are not
//! there (MADV_DONTFORK), whichever way it was forked - `fork`, `_Fork`, a bare `clone` - so its first
//! hook begins anew. The handler given to `pthread_atfork` does what is left: it resets the word on
//! kernels that cannot wipe; and in a child forked by a signal handler that had interrupted the recorder
//! (httrack #985 forks in one), it puts empty memory where the session was, for the interrupted hook to
//! end in. A child that such a handler makes without libc's `fork` has no handler run for it and faults
//! when it returns into the hook; one that execs or exits, as all do that we know, does not return.
#![allow(unsafe_code)]

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::{gate, program, session, sys, tls};

pub(crate) type ForkHandler = extern "C" fn();
/// `__register_atfork` of glibc; the last argument is the library that the handlers belong to.
type RegisterAtfork =
    unsafe extern "C" fn(Option<ForkHandler>, Option<ForkHandler>, Option<ForkHandler>, *const ()) -> c_int;
/// `pthread_atfork` of POSIX.
pub(crate) type PthreadAtfork =
    unsafe extern "C" fn(Option<ForkHandler>, Option<ForkHandler>, Option<ForkHandler>) -> c_int;

static REGISTERED: AtomicBool = AtomicBool::new(false);
/// `pthread_atfork` of a static program, which is found by no symbol table.
static GIVEN: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Says where `pthread_atfork` is.
pub(crate) fn give(f: PthreadAtfork) {
    GIVEN.store(f as *mut (), Ordering::Relaxed);
}

/// Registers the handler, once for the process and all its children: they inherit it.
pub(crate) fn register() {
    if REGISTERED.swap(true, Ordering::Relaxed) {
        return;
    }
    let given = GIVEN.load(Ordering::Relaxed);
    let Some(loader) = program::loader() else { return };
    // glibc has pthread_atfork only as a static stub around this.
    if let Some(f) = loader.find_anywhere(b"__register_atfork") {
        // SAFETY: glibc's function of this name has this type; without a handle the handler stays for ever.
        unsafe {
            core::mem::transmute::<*const (), RegisterAtfork>(f)(
                None,
                None,
                Some(in_child),
                core::ptr::null(),
            );
        }
    } else if let Some(f) = loader.find_anywhere(b"pthread_atfork").or((!given.is_null()).then_some(given)) {
        // SAFETY: POSIX's type of the function.
        unsafe {
            core::mem::transmute::<*const (), PthreadAtfork>(f)(None, None, Some(in_child));
        }
    }
}

extern "C" fn in_child() {
    if tls::words().inside.get() != 0
        && let Some(session) = session::inherited()
    {
        session.for_each_mapping(|base, len| {
            // SAFETY: the range was the session's, which no child has: nothing of the program is there.
            let _ = unsafe { sys::map_private_over(base, len) };
        });
    }
    session::forget_in_child();
    gate::come_in(tls::words());
}
