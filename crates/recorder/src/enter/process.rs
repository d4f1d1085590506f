//! The process as a whole: its counts and its end, without entering.
#![allow(unsafe_code)]

use core::sync::atomic::Ordering;

use heapscribe_nolibc::sys;
use heapscribe_wire::head::Leaving;
use heapscribe_wire::mode::Mode;

use crate::platform::clock;
use crate::state::{self, Counts, Threads, words};

/// What was counted until now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountsNow {
    /// By all threads.
    pub process: Counts,
    /// By the calling thread.
    pub thread: Counts,
    /// What is recorded now.
    pub mode: Mode,
}

/// What the process and the calling thread counted, and what is recorded now; `None` in a process that is
/// not recorded, or not yet.
pub fn counts() -> Option<CountsNow> {
    let session = state::current()?;
    // SAFETY: a thread's state stays for the life of the process.
    let thread = unsafe { words::words().thread.get().as_ref() };
    Some(CountsNow {
        process: session.threads.counted(session.head),
        thread: thread.map(Threads::counted_by).unwrap_or_default(),
        mode: Mode::from_word(session.head.mode.load(Ordering::Relaxed)),
    })
}

/// The process is about to exit by itself; one that is killed never calls this.
pub fn leave() {
    set_leaving(Leaving::Exit as u64);
}

/// The process is about to exec: when it does, its image has ended and was not killed.
pub fn begin_exec() {
    set_leaving(Leaving::Exec as u64);
}

/// The exec failed, and the process goes on.
pub fn exec_failed() {
    set_leaving(0);
}

/// A child of vfork, in its parent's memory, has another pid than the session and notes nothing for it.
fn set_leaving(word: u64) {
    if let Some(session) = state::current()
        && session.pid == sys::pid()
    {
        session.head.leaving_mono_ns.store(clock::monotonic_ns(), Ordering::Relaxed);
        session.head.leaving.store(word, Ordering::Relaxed);
    }
}
