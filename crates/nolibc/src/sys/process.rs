//! This process and its threads: identity, limits, signals, waiting.
#![allow(unsafe_code)]

use core::ffi::CStr;

use super::errno::{Errno, Result};
use super::syscall::{call, number};

/// This process.
pub fn pid() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(number::GETPID, [0; 6]) }.unwrap_or(0) as u32
}

/// Ends this process, all of its threads.
pub fn exit(status: i32) -> ! {
    loop {
        // SAFETY: a plain integer; it does not return.
        let _ = unsafe { call(number::EXIT_GROUP, [status as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Ends this process by SIGABRT. A handler of the program's runs first, and a debugger sees the caller; when
/// the handler comes back, or the signal is ignored, the process ends all the same.
pub fn abort() {
    const SIGABRT: usize = 6;
    const SIG_UNBLOCK: usize = 1;
    let set = 1u64 << (SIGABRT - 1);
    let default = [0usize; 4]; // struct sigaction: SIG_DFL, no flags, no restorer, empty mask
    // SAFETY: a kernel signal set of 8 bytes; plain integers; the kernel's structure.
    unsafe {
        let _ = call(number::RT_SIGPROCMASK, [SIG_UNBLOCK, (&raw const set) as usize, 0, 8, 0, 0]);
        let this_thread = [pid() as usize, tid() as usize, SIGABRT, 0, 0, 0];
        let _ = call(number::TGKILL, this_thread);
        let _ = call(number::RT_SIGACTION, [SIGABRT, default.as_ptr() as usize, 0, 8, 0, 0]);
        let _ = call(number::TGKILL, this_thread);
    }
}

/// The parent of this process.
pub fn parent_pid() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(number::GETPPID, [0; 6]) }.unwrap_or(0) as u32
}

/// Whether this process and its parent have one memory, as a child of `vfork` has. False when the kernel
/// will not say.
pub fn shares_memory_with_parent() -> bool {
    const KCMP_VM: usize = 1;
    // SAFETY: plain integers.
    let r = unsafe { call(number::KCMP, [pid() as usize, parent_pid() as usize, KCMP_VM, 0, 0, 0]) };
    r == Ok(0)
}

/// This thread.
pub fn tid() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(number::GETTID, [0; 6]) }.unwrap_or(0) as u32
}

/// Whether thread `tid` of process `pid` is there. True when the kernel will not say.
pub fn thread_exists(pid: u32, tid: u32) -> bool {
    // SAFETY: plain integers; signal 0 only asks.
    let r = unsafe { call(number::TGKILL, [pid as usize, tid as usize, 0, 0, 0, 0]) };
    r != Err(Errno::ESRCH)
}

/// Whether process `pid` is there. True when the kernel will not say.
pub fn process_exists(pid: u32) -> bool {
    // SAFETY: plain integers; signal 0 only asks.
    let r = unsafe { call(number::KILL, [pid as usize, 0, 0, 0, 0, 0]) };
    r != Err(Errno::ESRCH)
}

/// Has the kernel make barriers of other processes reach this one at once. False when it knows no such
/// barriers (before 4.16) or may not.
pub fn register_for_barriers() -> bool {
    const REGISTER_GLOBAL_EXPEDITED: usize = 1 << 2;
    // SAFETY: plain integers.
    unsafe { call(number::MEMBARRIER, [REGISTER_GLOBAL_EXPEDITED, 0, 0, 0, 0, 0]) }.is_ok()
}

/// A barrier on all processors that run threads of processes that have registered for it, or, where the
/// kernel knows none such, on all there are, which takes some milliseconds. False when it knows neither.
pub fn barrier() -> bool {
    const GLOBAL: usize = 1;
    const GLOBAL_EXPEDITED: usize = 1 << 1;
    // SAFETY: plain integers.
    let ask = |command| unsafe { call(number::MEMBARRIER, [command, 0, 0, 0, 0, 0]) }.is_ok();
    ask(GLOBAL_EXPEDITED) || ask(GLOBAL)
}

/// Sleeps; shorter when a signal comes.
pub fn sleep_ns(ns: u64) {
    let t = [ns / 1_000_000_000, ns % 1_000_000_000];
    // SAFETY: `t` is a struct timespec.
    let _ = unsafe { call(number::NANOSLEEP, [t.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// The calling thread's name, NUL-padded.
pub fn thread_name() -> [u8; 16] {
    const PR_GET_NAME: usize = 16;
    let mut name = [0u8; 16];
    // SAFETY: the kernel writes at most 16 bytes.
    let _ = unsafe { call(number::PRCTL, [PR_GET_NAME, name.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    name
}

/// Where a symlink points; how many bytes of `into` it took. Cut when too long.
pub fn readlink(path: &CStr, into: &mut [u8]) -> Result<usize> {
    let a = [path.as_ptr() as usize, into.as_mut_ptr() as usize, into.len(), 0, 0, 0];
    // SAFETY: `path` is a C string, `into` valid for its length.
    unsafe { call(number::READLINK, a) }
}

/// The inode number in `pid:[4026531836]`: a process in a container counts pids of its own.
pub fn pid_namespace() -> u64 {
    let mut link = [0; 32];
    let len = readlink(c"/proc/thread-self/ns/pid", &mut link).unwrap_or(0);
    let digits = link.iter().take(len).filter(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u64, &digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}

/// The working directory, without the final NUL; how many bytes of `into` it took.
pub fn working_directory(into: &mut [u8]) -> Result<usize> {
    let a = [into.as_mut_ptr() as usize, into.len(), 0, 0, 0, 0];
    // SAFETY: `into` is valid for its length.
    unsafe { call(number::GETCWD, a) }.map(|n| n.saturating_sub(1))
}

/// A thread's alternate signal stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AlternateStack {
    /// Where it is; empty when there is none.
    pub range: core::ops::Range<usize>,
    /// Whether the thread is on it. True when the kernel will not say.
    pub is_in_use: bool,
}

/// The calling thread's alternate signal stack.
pub fn alternate_stack() -> AlternateStack {
    const SS_ONSTACK: usize = 1;
    let mut stack = [0usize; 3]; // struct stack_t: pointer, flags (and padding), size
    // SAFETY: `stack` is as large as the kernel's structure.
    let r = unsafe { call(number::SIGALTSTACK, [0, stack.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    let [base, flags, size] = stack;
    AlternateStack { range: base..base.wrapping_add(size), is_in_use: r.is_err() || flags & SS_ONSTACK != 0 }
}

/// A clock's time in ns, asked of the kernel itself.
pub fn clock_ns(clock: i32) -> u64 {
    let mut t = [0u64; 2];
    // SAFETY: `t` is a struct timespec.
    let _ = unsafe { call(number::CLOCK_GETTIME, [clock as usize, t.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    t[0] * 1_000_000_000 + t[1]
}

/// By which step a clock goes on (`clock_getres`), ns; 0 for a clock that is not there.
pub fn clock_step_ns(clock: i32) -> u64 {
    let mut t = [0u64; 2];
    // SAFETY: `t` is a struct timespec.
    let _ = unsafe { call(number::CLOCK_GETRES, [clock as usize, t.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    t[0] * 1_000_000_000 + t[1]
}

/// A resource limit of this process (the soft one), `u64::MAX` for none.
fn limit(resource: usize) -> u64 {
    let mut pair = [u64::MAX; 2];
    let a = [0, resource, 0, pair.as_mut_ptr() as usize, 0, 0];
    // SAFETY: `pair` is a struct rlimit64.
    match unsafe { call(number::PRLIMIT64, a) } {
        Ok(_) => pair[0],
        Err(_) => u64::MAX,
    }
}

/// The largest file this process may write (RLIMIT_FSIZE), in bytes.
pub fn file_size_limit() -> u64 {
    limit(1)
}

/// How much address space this process may have (RLIMIT_AS), in bytes.
pub fn address_space_limit() -> u64 {
    limit(9)
}

/// Whether an exec may close descriptors, and so leave some to the program, that are all in use now. Not known of many.
pub fn exec_frees_descriptors() -> bool {
    const LOOKED_AT: u64 = 64;
    const F_GETFD: usize = 1;
    const FD_CLOEXEC: usize = 1;
    // SAFETY: a descriptor's flags are asked for, of any number.
    let flags = |at: u64| unsafe { call(number::FCNTL, [at as usize, F_GETFD, 0, 0, 0, 0]) };
    let limit = limit(7);
    limit > LOOKED_AT || (0..limit).any(|at| flags(at).is_ok_and(|flags| flags & FD_CLOEXEC != 0))
}

/// All signals held back while this lives, so that no handler can run - or jump away - while the thread
/// holds one of our locks.
#[derive(Debug)]
pub struct SignalsBlocked {
    before: u64,
}

impl SignalsBlocked {
    /// Blocks every signal for this thread.
    pub fn new() -> Self {
        const SIG_SETMASK: usize = 2;
        let all = u64::MAX;
        let mut before = 0u64;
        let a = [SIG_SETMASK, (&raw const all) as usize, (&raw mut before) as usize, 8, 0, 0];
        // SAFETY: two kernel signal sets of 8 bytes.
        let _ = unsafe { call(number::RT_SIGPROCMASK, a) };
        SignalsBlocked { before }
    }

    /// Signals that wait until they may be handled, a bit each, the lowest for signal 1.
    pub(super) fn pending(&self) -> u64 {
        let mut set = 0u64;
        // SAFETY: a kernel signal set of 8 bytes.
        let _ = unsafe { call(number::RT_SIGPENDING, [(&raw mut set) as usize, 8, 0, 0, 0, 0]) };
        set
    }

    /// Takes one of these signals, if any waits: it is not handled.
    pub(super) fn take(&self, set: u64) {
        let at_once = [0u64; 2];
        let a = [(&raw const set) as usize, 0, at_once.as_ptr() as usize, 8, 0, 0];
        // SAFETY: a kernel signal set of 8 bytes and a struct timespec; nothing is to be written.
        let _ = unsafe { call(number::RT_SIGTIMEDWAIT, a) };
    }
}

impl Default for SignalsBlocked {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        const SIG_SETMASK: usize = 2;
        let a = [SIG_SETMASK, (&raw const self.before) as usize, 0, 8, 0, 0];
        // SAFETY: a kernel signal set of 8 bytes.
        let _ = unsafe { call(number::RT_SIGPROCMASK, a) };
    }
}

/// Whether the kernel can read the 8 bytes at `address`: asked with a signal mask that it first copies,
/// then refuses for a `how` that does not exist.
pub fn is_readable(address: usize) -> bool {
    const NO_SUCH_HOW: usize = usize::MAX;
    // SAFETY: the kernel checks the address; nothing is changed.
    let r = unsafe { call(number::RT_SIGPROCMASK, [NO_SUCH_HOW, address, 0, 8, 0, 0]) };
    r == Err(Errno::EINVAL)
}
