//! What this process was started with, read by a constructor: before `main`, Rust's runtime ignores SIGPIPE and
//! opens `/dev/null` where a standard descriptor is closed, and nothing tells afterwards what was there.
//!
//! SIGCHLD is taken from ignored to default at once: while it is ignored, the kernel forgets children that have
//! ended, and nobody can wait for them. SIGXFSZ is taken from default to ignored: a file that may not grow any further
//! (`ulimit -f`) is an error to be told, like a full disk, and no reason to die of.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use libc::{c_int, c_long};

/// Signals are 1 to 64 on x86_64; bit N - 1 of a set stands for signal N.
const SIGNALS: std::ops::RangeInclusive<c_int> = 1..=64;
/// Bytes of the kernel's set of signals.
const SET_BYTES: usize = 8;
/// Standard descriptors: those that the runtime opens when they are closed.
const STANDARD: std::ops::RangeInclusive<c_int> = 0..=2;

static IGNORED: AtomicU64 = AtomicU64::new(0);
static BLOCKED: AtomicU64 = AtomicU64::new(0);
static CLOSED: AtomicU32 = AtomicU32::new(0);
static PARENT_DEATH_SIGNAL: AtomicI32 = AtomicI32::new(0);

/// The kernel's `struct sigaction`. libc's functions refuse signals 32 and 33, which are glibc's own.
#[repr(C)]
#[derive(Clone, Copy)]
struct Action {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

impl Action {
    const fn of(handler: usize) -> Action {
        Action { handler, flags: 0, restorer: 0, mask: 0 }
    }
}

/// What the kernel does on a signal; `new` changes it.
fn action(signal: c_int, new: Option<Action>) -> Action {
    let mut old = Action::of(libc::SIG_DFL);
    let new = new.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: both are the kernel's structure, or null; without a handler no restorer is needed.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, new, &raw mut old, SET_BYTES) };
    old
}

/// Changes the calling thread's mask; gives what it was.
pub(crate) fn change_mask(how: c_int, signals: u64) -> u64 {
    let mut old = 0u64;
    // SAFETY: two sets of the kernel's size.
    unsafe { libc::syscall(libc::SYS_rt_sigprocmask, how, &raw const signals, &raw mut old, SET_BYTES) };
    old
}

fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

extern "C" fn capture() {
    let is_ignored = |signal: &c_int| action(*signal, None).handler == libc::SIG_IGN;
    let ignored = SIGNALS.filter(is_ignored).fold(0, |set, signal| set | bit(signal));
    IGNORED.store(ignored, Ordering::Relaxed);
    BLOCKED.store(change_mask(libc::SIG_BLOCK, 0), Ordering::Relaxed);
    // SAFETY: asks about a descriptor that may be closed.
    let is_closed = |fd: &c_int| unsafe { libc::fcntl(*fd, libc::F_GETFD) } < 0;
    CLOSED.store(STANDARD.filter(is_closed).fold(0, |set, fd| set | 1 << fd), Ordering::Relaxed);
    let mut signal: c_int = 0;
    // SAFETY: the kernel writes an int.
    unsafe { libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut signal) };
    PARENT_DEATH_SIGNAL.store(signal, Ordering::Relaxed);
    if ignored & bit(libc::SIGCHLD) != 0 {
        action(libc::SIGCHLD, Some(Action::of(libc::SIG_DFL)));
    }
    if ignored & bit(libc::SIGXFSZ) == 0 {
        action(libc::SIGXFSZ, Some(Action::of(libc::SIG_IGN)));
    }
}

#[used]
// SAFETY: the section is an array of functions of this type; glibc's arguments are not looked at.
#[unsafe(link_section = ".init_array")]
static CAPTURE: extern "C" fn() = capture;

/// The signals that this process was started to ignore: bit N - 1 for signal N.
pub fn ignored_signals() -> u64 {
    IGNORED.load(Ordering::Relaxed)
}

/// Lets these signals reach the calling thread, also when it was started with them blocked.
pub fn unblock(signals: impl IntoIterator<Item = c_int>) {
    change_mask(libc::SIG_UNBLOCK, signals.into_iter().fold(0, |set, signal| set | bit(signal)));
}

/// Timers that exec keeps and fork does not: `alarm` in front of a program is the program's.
pub(crate) struct Timers([libc::itimerval; 3]);

const TIMERS: [c_int; 3] = [libc::ITIMER_REAL, libc::ITIMER_VIRTUAL, libc::ITIMER_PROF];

impl Timers {
    /// Takes them away from this process.
    pub(crate) fn take() -> Timers {
        Timers(TIMERS.map(|which| {
            let mut timer = MaybeUninit::zeroed();
            // SAFETY: a timer of zeros is one that is not set, and a value of the structure.
            unsafe {
                let none = MaybeUninit::zeroed().assume_init();
                libc::setitimer(which, &raw const none, timer.as_mut_ptr());
                timer.assume_init()
            }
        }))
    }

    /// Sets them for this process.
    pub(crate) fn set(&self) {
        for (which, timer) in TIMERS.into_iter().zip(&self.0) {
            // SAFETY: a timer that the kernel gave.
            unsafe { libc::setitimer(which, timer, ptr::null_mut()) };
        }
    }
}

/// In a child before exec, with all signals blocked: makes everything what it was. No call here allocates or locks.
pub(crate) fn restore(timers: &Timers) {
    let ignored = ignored_signals();
    for signal in SIGNALS.filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal)) {
        let handler = if ignored & bit(signal) != 0 { libc::SIG_IGN } else { libc::SIG_DFL };
        action(signal, Some(Action::of(handler)));
    }
    let closed = CLOSED.load(Ordering::Relaxed);
    for fd in STANDARD.filter(|fd| closed >> fd & 1 != 0) {
        // SAFETY: what is there is the runtime's /dev/null, which this process uses no more.
        unsafe { libc::close(fd) };
    }
    let signal = PARENT_DEATH_SIGNAL.load(Ordering::Relaxed);
    if signal != 0 {
        // SAFETY: plain integers.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, c_long::from(signal)) };
    }
    timers.set();
    change_mask(libc::SIG_SETMASK, BLOCKED.load(Ordering::Relaxed));
}
