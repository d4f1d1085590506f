//! Forks as a program makes them, with the heap's hooks around them, and children that must end.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::time::{Duration, Instant};

use heapscribe_alloc::Heap;

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn kill(pid: c_int, signal: c_int) -> c_int;
    fn _exit(code: c_int) -> !;
}

const WNOHANG: c_int = 1;
const SIGKILL: c_int = 9;
/// A child that has not ended by then hangs.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Runs `work` in a forked child; what went wrong is the error. `work` must not touch the heap of the test
/// program, whose locks other threads may have held.
pub(crate) fn in_child(heap: &dyn Heap, work: impl FnOnce() -> bool) -> Result<(), String> {
    heap.fork_prepare();
    // SAFETY: prepared: this thread called `fork_prepare`. The child calls only the heap, its hook and _exit.
    let pid = unsafe {
        let pid = fork();
        if pid == 0 {
            heap.fork_child();
            _exit(if work() { 0 } else { 1 });
        }
        heap.fork_parent();
        pid
    };
    if pid < 0 {
        return Err("no fork".to_owned());
    }
    let since = Instant::now();
    let mut status = 0;
    // SAFETY: our own child.
    while unsafe { waitpid(pid, &mut status, WNOHANG) } == 0 {
        if since.elapsed() > TIMEOUT {
            // SAFETY: our own child, which is then waited for.
            unsafe {
                kill(pid, SIGKILL);
                waitpid(pid, &mut status, 0);
            }
            return Err("the child hangs".to_owned());
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    if status == 0 { Ok(()) } else { Err(format!("the child ended with {status:#x}")) }
}
