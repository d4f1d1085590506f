//! A session is made: the directory, its four files, the head that says who this is.
//!
//! ```text
//!   state (zero in a forked child)   0 -> making -> recording | refused
//! ```
//! Made by the first hook that comes, wherever that is - before constructors, inside `dlsym`, in a
//! forked child - so with system calls only and little stack. Refused for good when nobody asked for it
//! or it cannot be had: then the hooks forward and do nothing else.
#![allow(unsafe_code)]

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use heapscribe_wire::head::{ClockKind, Drop, HEAD_FILE_BYTES, SharedHead};

use crate::define::Definer;
use crate::gate::Rates;
use crate::intern::Interner;
use crate::live::Live;
use crate::lock::Lock;
use crate::log::Log;
use crate::make::Refusal;
use crate::names::Names;
use crate::thread::Threads;
use crate::{clock, filter, gate, make, memory, sys, ways};

/// What the hooks of a recording process use.
#[derive(Debug)]
pub(crate) struct Session {
    /// The shared head.
    pub head: &'static SharedHead,
    /// This process.
    pub pid: u32,
    /// Every how many captures of a stack one is checked; 0: never.
    pub verify_every: u32,
    /// Sampling rates.
    pub rates: Rates,
    /// Rules of real time, as the plan has them; empty when no call is to stop the process.
    pub rules: &'static [u8],
    /// Which clock ticks are on.
    pub clock: ClockKind,
    /// For what is rare.
    pub lock: Lock,
    /// Chunks of events.
    pub log: Log,
    /// Definitions.
    pub definer: Definer,
    /// Numbers of stacks.
    pub interner: Interner,
    /// Numbers of names.
    pub names: Names,
    /// What is allocated now.
    pub live: Live,
    /// Threads.
    pub threads: Threads,
}

impl Session {
    /// The session's time.
    #[inline(always)]
    pub(crate) fn ticks(&self) -> u64 {
        clock::ticks(self.clock)
    }

    /// Hands each shared mapping to `take`: address and bytes.
    pub(crate) fn for_each_mapping(&self, mut take: impl FnMut(*mut u8, usize)) {
        take(ptr::from_ref(self.head).cast_mut().cast(), HEAD_FILE_BYTES);
        let files = [self.definer.file(), self.live.file(), self.log.file(), self.threads.file()];
        for file in files {
            file.for_each_mapping(&mut take);
        }
    }
}

const MAKING: u32 = 1;
const RECORDING: u32 = 2;
const REFUSED: u32 = 3;

/// The state's page, zero in a forked child, so that a child knows itself as one. Only this is wiped by
/// the kernel: all else a child inherits, because it may have been forked by a signal handler that had
/// interrupted the recorder, which then goes on in the child to its end.
static STATE: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());
static SESSION: AtomicPtr<Session> = AtomicPtr::new(ptr::null_mut());
/// Nobody asked for a recording, or it cannot be had in this process or any child of it.
static OFF: AtomicU32 = AtomicU32::new(0);
/// Events that came while the session was being made by another thread.
static EARLY: AtomicU64 = AtomicU64::new(0);

/// The session of this process, if it has one.
#[inline(always)]
pub(crate) fn current() -> Option<&'static Session> {
    // SAFETY: the page stays for the life of the process; state RECORDING says that a session was
    // written, which stays too.
    unsafe {
        let state = STATE.load(Ordering::Acquire).as_ref()?;
        if state.load(Ordering::Acquire) != RECORDING {
            return None;
        }
        SESSION.load(Ordering::Acquire).as_ref()
    }
}

/// What becomes of the memory that a forked child inherits from its parent's recorder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Memory {
    /// It is handed out anew.
    Emptied,
    /// It stays: a hook that was interrupted still uses it.
    Kept,
}

/// Whether this process is making its session right now.
pub(crate) fn is_being_made() -> bool {
    // SAFETY: as in `current`.
    let state = unsafe { STATE.load(Ordering::Acquire).as_ref() };
    state.is_none_or(|state| state.load(Ordering::Acquire) == MAKING)
}

/// The session of this process, made if need be. `None` when it is refused or another thread makes it.
pub(crate) fn get_or_make(memory: Memory) -> Option<&'static Session> {
    if OFF.load(Ordering::Relaxed) != 0 {
        return None;
    }
    let state = state()?;
    match state.compare_exchange(0, MAKING, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) if sys::shares_memory_with_parent() => {
            // A child of vfork, in its parent's memory: the session would have the wrong process.
            state.store(0, Ordering::Release);
            lose_early();
            None
        }
        Ok(_) => make(state, memory),
        Err(MAKING) => {
            lose_early();
            None
        }
        Err(_) => current(),
    }
}

/// Counts an event for which there is no session yet.
fn lose_early() {
    EARLY.fetch_add(1, Ordering::Relaxed);
}

fn state() -> Option<&'static AtomicU32> {
    const PAGE_BYTES: usize = 4096;
    if STATE.load(Ordering::Acquire).is_null() {
        let page = memory::pages(PAGE_BYTES)?;
        // SAFETY: the page was just made and is ours. Where the kernel cannot wipe (before 4.14) the fork
        // handler does, see `forget_in_child`.
        let _ = unsafe { sys::advise(page.as_ptr(), PAGE_BYTES, sys::Advice::WipeOnFork) };
        // Two threads may be here only when the first allocations of all come from two threads at once;
        // the slower one's page is left unused.
        let null = ptr::null_mut();
        let _ = STATE.compare_exchange(null, page.as_ptr().cast(), Ordering::AcqRel, Ordering::Acquire);
    }
    // SAFETY: the page stays for the life of the process; zero is a valid state.
    unsafe { STATE.load(Ordering::Acquire).as_ref() }
}

fn make(state: &'static AtomicU32, memory: Memory) -> Option<&'static Session> {
    // A handler that jumped away would leave it half made for ever.
    let _blocked = sys::SignalsBlocked::new();
    let is_child = make::is_forked_child();
    if is_child && memory == Memory::Emptied {
        // SAFETY: a forked child has one thread when it comes here first, and all that was handed out
        // before belongs to its parent's session, which is not used again.
        unsafe { memory::restart_in_child() };
    }
    match make_session(is_child) {
        Ok(session) => {
            let early = EARLY.swap(0, Ordering::Relaxed);
            session.head.drops[Drop::NoSession as usize].fetch_add(early, Ordering::Relaxed);
            if is_child {
                filter::clear();
            }
            gate::open();
            ways::settle(session.log.timed_by(), !session.rules.is_empty());
            state.store(RECORDING, Ordering::Release);
            make::announce(session, is_child);
            Some(session)
        }
        Err(refusal) => {
            if !refusal.is_worth_another_try() {
                OFF.store(1, Ordering::Relaxed);
            }
            state.store(REFUSED, Ordering::Release);
            ways::settle(None, false);
            None
        }
    }
}

fn make_session(is_child: bool) -> Result<&'static Session, Refusal> {
    // SAFETY: only the thread that moved the state to MAKING is here, and no thread is attached yet.
    let place = unsafe { memory::alloc(size_of::<Session>()) }.ok_or(Refusal::Files(sys::Errno::ENOMEM))?;
    let place = place.cast::<Session>();
    make::session(is_child, place)?;
    SESSION.store(place.as_ptr(), Ordering::Release);
    // SAFETY: `make::session` has written it.
    Ok(unsafe { place.as_ref() })
}

/// In a forked child, on kernels that do not wipe the state's page.
pub(crate) fn forget_in_child() {
    // SAFETY: as in `current`.
    if let Some(state) = unsafe { STATE.load(Ordering::Acquire).as_ref() } {
        state.store(0, Ordering::Release);
    }
}

/// Whether no process from here on will be recorded.
pub(crate) fn is_refused_for_good() -> bool {
    OFF.load(Ordering::Relaxed) != 0
}

/// The mappings of the parent's session, in a forked child that has not made its own.
pub(crate) fn inherited() -> Option<&'static Session> {
    // SAFETY: a session that was written stays until `make` runs in this process.
    unsafe { SESSION.load(Ordering::Acquire).as_ref() }
}
