//! A session begins: with the first hook of the process, wherever that is - before constructors, inside
//! `dlsym`, in a forked child - so with system calls only and little stack. Refused for good when nobody asked
//! for it or it cannot be had: then the hooks forward and do nothing else.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use heapscribe_nolibc::sys::{self, Errno};

use super::describe::{Created, describe};
use super::refusal::Refusal;
use super::{base, files, fork, identity, unrecorded};
use crate::platform::{clock, memory};
use crate::sampling::{filter, gate};
use crate::state::{self, Claim, Session, hook_flags};
use crate::{modules, program};

/// What becomes of the memory that a forked child inherits from its parent's recorder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InheritedMemory {
    /// It is allocated from anew.
    Emptied,
    /// It stays: a hook that was interrupted still uses it.
    Retained,
}

/// The session of this process, made if need be. `None` when it is refused or another thread makes it.
pub(crate) fn get_or_begin(memory: InheritedMemory) -> Option<&'static Session> {
    match state::claim() {
        Claim::Settled(session) => session,
        Claim::Make => begin(memory),
    }
}

/// To be called when the program starts: who calls a heap that it contains may never call a hook, so nobody else
/// would say that it is not recorded.
pub fn program_starts() {
    if program::is_sanitizers() {
        // It is refused, and that is noted.
        let _ = get_or_begin(InheritedMemory::Emptied);
    } else if program::is_passed_over() {
        unrecorded::note_own_heap();
    }
}

/// Makes the session, whose making this thread has claimed.
fn begin(memory: InheritedMemory) -> Option<&'static Session> {
    // A handler that jumped away would leave it half made for ever.
    let _blocked = sys::SignalsBlocked::new();
    let is_child = identity::is_forked_child();
    if is_child && memory == InheritedMemory::Emptied {
        // SAFETY: a forked child has one thread when it is here first, and all that was allocated before
        // belongs to its parent's session, which is not used again.
        unsafe { memory::restart_in_child() };
    }
    match make(is_child) {
        Ok(session) => {
            // SAFETY: this thread has claimed the making; `make` has written the session, in memory that stays.
            let session = unsafe { state::finish(session, |session| prepare(session, is_child)) };
            if is_child && let Some(loader) = program::loader() {
                loader.forget_threads();
                modules::forget_closing();
                modules::announce_inherited(loader, session);
            }
            Some(session)
        }
        Err(refusal) => {
            unrecorded::note_refused(refusal);
            state::give_up(!refusal.is_worth_another_try());
            hook_flags::settle(None, false);
            None
        }
    }
}

/// What hooks look at before they enter.
fn prepare(session: &Session, is_child: bool) {
    if is_child {
        filter::clear();
    }
    gate::open();
    hook_flags::settle_mappings(session.tracks_mappings);
    hook_flags::settle(session.log.timed_by(), !session.rules.is_empty());
}

/// Why there is no heap whose calls are recorded.
fn no_heap() -> Refusal {
    if program::is_sanitizers() { Refusal::Sanitizer } else { Refusal::Heap }
}

/// Makes the session: not on the stack, which may be a signal handler's few pages.
fn make(is_child: bool) -> Result<NonNull<Session>, Refusal> {
    // SAFETY: only the thread that has claimed the making is here, and no thread is attached yet.
    let place = unsafe { memory::alloc_alone(size_of::<Session>()) }.ok_or(Refusal::Files(Errno::ENOMEM))?;
    let place = place.cast::<Session>();
    if !is_child {
        base::find_base()?;
    }
    let base = base::open_base()?;
    let plan = base::read_plan(&base)?;
    let granule_shift = program::granule_shift().ok_or_else(no_heap)?;
    if let Some(loader) = program::loader() {
        clock::find(loader);
    }
    // Both at one moment, before files are made: a short trace has its rate from this pair.
    let (mono_ns, ticks) = clock::moment(plan.clock);
    let created = Created { mono_ns, ticks };
    let mode = if is_child { gate::inherited() } else { None };
    // SAFETY: only this thread is in the recorder; the place is new memory of that size, aligned to 64, and stays.
    let session = unsafe { files::create(&base, &plan, granule_shift, created.mono_ns, mode, place) };
    // What standard error is belongs to the program: `record` says that this process is not recorded.
    let session = session.map_err(Refusal::Files)?;
    describe(session, is_child, created);
    fork::register();
    Ok(place)
}
