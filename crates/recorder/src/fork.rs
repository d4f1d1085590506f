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

use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use heapscribe_nolibc::at_fork::{Handlers, PthreadAtfork};

use crate::{gate, program, session, sys, tls};

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
    // SAFETY: what is not null was given as a function of this type.
    let given = (!given.is_null()).then(|| unsafe { core::mem::transmute::<*mut (), PthreadAtfork>(given) });
    if let Some(loader) = program::loader() {
        Handlers { child: Some(in_child), ..Handlers::default() }.register(loader, given);
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
