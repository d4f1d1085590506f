//! Fork: a child never writes its parent's session.
//!
//! The word for "recording" is zero in a child (MADV_WIPEONFORK), and the session's mappings are not
//! there (MADV_DONTFORK), however it was forked - `fork`, `_Fork`, a bare `clone` - so its first
//! hook begins anew. The handler given to `pthread_atfork` does what is left: it resets the word on
//! kernels that cannot wipe; and in a child forked by a signal handler that had interrupted the recorder
//! (httrack #985 forks in one), it puts empty memory where the session was, for the interrupted hook to
//! end in. A child that such a handler makes without libc's `fork` has no handler run for it and faults
//! when it returns into the hook; one that execs or exits, as all do that we know, does not return.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use heapscribe_nolibc::at_fork::{Handlers, PthreadAtfork};
use heapscribe_nolibc::sys;

use crate::program;
use crate::sampling::gate;
use crate::state::{self, words};

static REGISTERED: AtomicBool = AtomicBool::new(false);
/// `pthread_atfork` of a static program, which is found by no symbol table.
static PROVIDED: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Brings `pthread_atfork`.
pub(crate) fn provide_pthread_atfork(f: PthreadAtfork) {
    PROVIDED.store(f as *mut (), Ordering::Relaxed);
}

/// Registers the handler, once for the process and all its children: they inherit it.
pub(super) fn register() {
    if REGISTERED.swap(true, Ordering::Relaxed) {
        return;
    }
    let provided = PROVIDED.load(Ordering::Relaxed);
    // SAFETY: what is not null was provided as a function of this type.
    let provided =
        (!provided.is_null()).then(|| unsafe { core::mem::transmute::<*mut (), PthreadAtfork>(provided) });
    if let Some(loader) = program::loader() {
        Handlers { child: Some(in_child), ..Handlers::default() }.register(loader, provided);
    }
}

extern "C" fn in_child() {
    if words::words().inside.get() != 0
        && let Some(session) = state::inherited()
    {
        session.for_each_mapping(|base, len| {
            // SAFETY: the range was the session's, which no child has: nothing of the program is there.
            let _ = unsafe { sys::map_private_over(base, len) };
        });
    }
    state::forget_in_child();
    gate::reopen(words::words());
}
