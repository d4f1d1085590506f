//! Which session this process has, if any.
//!
//! ```text
//!   phase (zero in a forked child)   0 -> making -> recording | refused      recording -> stopped
//! ```
#![allow(unsafe_code)]

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use heapscribe_nolibc::sys;
use heapscribe_wire::head::LossReason;

use super::session::Session;
use crate::platform::memory;

const NONE: u32 = 0;
const MAKING: u32 = 1;
const RECORDING: u32 = 2;
const REFUSED: u32 = 3;
const STOPPED: u32 = 4;

/// The phase's page, zero in a forked child, so that a child knows itself as one. Only this is wiped by
/// the kernel: all else a child inherits, because it may have been forked by a signal handler that had
/// interrupted the recorder, which then goes on in the child to its end.
static PHASE: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());
static SESSION: AtomicPtr<Session> = AtomicPtr::new(ptr::null_mut());
/// Nobody asked for a recording, or it cannot be had in this process or any child of it.
static OFF: AtomicU32 = AtomicU32::new(0);
/// Events while the session was being made by another thread.
static EARLY: AtomicU64 = AtomicU64::new(0);

/// The session of this process, if it has one.
#[inline(always)]
pub(crate) fn current() -> Option<&'static Session> {
    // SAFETY: the page stays for the life of the process; in phase RECORDING a session was written, which
    // stays too.
    unsafe {
        let phase = PHASE.load(Ordering::Acquire).as_ref()?;
        if phase.load(Ordering::Acquire) != RECORDING {
            return None;
        }
        SESSION.load(Ordering::Acquire).as_ref()
    }
}

/// The phase, when its page is there.
fn phase() -> Option<&'static AtomicU32> {
    // SAFETY: the page stays for the life of the process; zero is a valid phase.
    unsafe { PHASE.load(Ordering::Acquire).as_ref() }
}

/// Whether this process is making its session right now.
pub(crate) fn is_being_made() -> bool {
    phase().is_none_or(|phase| phase.load(Ordering::Acquire) == MAKING)
}

/// Whether this process has no session and will get none; a forked child of it may.
pub(crate) fn is_refused() -> bool {
    phase().is_some_and(|phase| [REFUSED, STOPPED].contains(&phase.load(Ordering::Acquire)))
}

/// The session that was stopped, for its losses to be counted.
pub(crate) fn stopped() -> Option<&'static Session> {
    let is_stopped = phase().is_some_and(|phase| phase.load(Ordering::Acquire) == STOPPED);
    inherited().filter(|_| is_stopped)
}

/// Stops recording, in this process and in what it forks. Whether it did record.
pub(crate) fn stop() -> bool {
    OFF.store(1, Ordering::Relaxed);
    let change =
        |phase: &AtomicU32| phase.compare_exchange(RECORDING, STOPPED, Ordering::AcqRel, Ordering::Acquire);
    phase().is_some_and(|phase| change(phase).is_ok())
}

/// Takes a [`stop`] back.
pub(crate) fn go_on() {
    OFF.store(0, Ordering::Relaxed);
    if let Some(phase) = phase() {
        let _ = phase.compare_exchange(STOPPED, RECORDING, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// Whether no process from here on will be recorded.
pub(crate) fn is_off_for_good() -> bool {
    OFF.load(Ordering::Relaxed) != 0
}

/// The mappings of the parent's session, in a forked child that has not made its own.
pub(crate) fn inherited() -> Option<&'static Session> {
    // SAFETY: a session that was written stays until another is made in this process.
    unsafe { SESSION.load(Ordering::Acquire).as_ref() }
}

/// What a thread that asks for the session is to do.
#[derive(Debug)]
pub(crate) enum Claim {
    /// Make it: it alone does, and [`finish`]es or [`give_up`]s.
    Make,
    /// There is one, or none for good: this is it.
    Settled(Option<&'static Session>),
}

/// Claims the making of the session. An event for which there is none yet is counted.
pub(crate) fn claim() -> Claim {
    if is_off_for_good() {
        return Claim::Settled(None);
    }
    let Some(phase) = provide_phase() else { return Claim::Settled(None) };
    match phase.compare_exchange(NONE, MAKING, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) if sys::shares_memory_with_parent() => {
            // A child of vfork, in its parent's memory: the session would have the wrong process.
            phase.store(NONE, Ordering::Release);
            count_early();
            Claim::Settled(None)
        }
        Ok(_) => Claim::Make,
        Err(MAKING) => {
            count_early();
            Claim::Settled(None)
        }
        Err(_) => Claim::Settled(current()),
    }
}

fn count_early() {
    EARLY.fetch_add(1, Ordering::Relaxed);
}

fn provide_phase() -> Option<&'static AtomicU32> {
    const PAGE_BYTES: usize = 4096;
    if PHASE.load(Ordering::Acquire).is_null() {
        let page = memory::pages(PAGE_BYTES)?;
        // SAFETY: the page was just made and is ours. Where the kernel cannot wipe (before 4.14) the fork
        // handler does, see `forget_in_child`.
        let _ = unsafe { sys::advise(page.as_ptr(), PAGE_BYTES, sys::Advice::WipeOnFork) };
        // Two threads may be here only when the first allocations of all come from two threads at once;
        // the slower one's page is left unused.
        let null = ptr::null_mut();
        let _ = PHASE.compare_exchange(null, page.as_ptr().cast(), Ordering::AcqRel, Ordering::Acquire);
    }
    phase()
}

/// Announces the session that was made: from now on it is the process's. `prepare` is done just before.
///
/// # Safety
/// * The caller has claimed the making.
/// * `session` was written, and stays for the life of the process.
pub(crate) unsafe fn finish(
    session: NonNull<Session>,
    prepare: impl FnOnce(&'static Session),
) -> &'static Session {
    SESSION.store(session.as_ptr(), Ordering::Release);
    // SAFETY: `session` was written, and stays.
    let session: &'static Session = unsafe { session.as_ref() };
    let early = EARLY.swap(0, Ordering::Relaxed);
    session.head.drops[LossReason::NoSession as usize].fetch_add(early, Ordering::Relaxed);
    prepare(session);
    if let Some(phase) = phase() {
        phase.store(RECORDING, Ordering::Release);
    }
    session
}

/// There will be no session in this process; `for_good`: nor in any child of it. The caller has claimed the
/// making.
pub(crate) fn give_up(for_good: bool) {
    if for_good {
        OFF.store(1, Ordering::Relaxed);
    }
    if let Some(phase) = phase() {
        phase.store(REFUSED, Ordering::Release);
    }
}

/// In a forked child, on kernels that do not wipe the phase's page.
pub(crate) fn forget_in_child() {
    if let Some(phase) = phase() {
        phase.store(NONE, Ordering::Release);
    }
}
