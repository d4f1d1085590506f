//! The end of threads, for heaps that want to know: a key of libc's (TSD) with a destructor, which libc calls in each
//! thread that has set a value.
//!
//! Whether a thread has, is in a thread-local word that is reached without a call, as a `thread_local!` in a
//! shared library may call `malloc` (agnocast #1325).
#![allow(unsafe_code)]

use core::cell::Cell;
use core::ffi::{c_int, c_void};

use heapscribe_nolibc::loader::Loader;

core::arch::global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    ".globl heapscribe_shell_thread",
    ".hidden heapscribe_shell_thread",
    ".type heapscribe_shell_thread,@object",
    ".size heapscribe_shell_thread,8",
    "heapscribe_shell_thread:",
    ".zero 8",
    ".previous",
);

/// What each thread has from its start, zeroed.
#[repr(C)]
struct Words {
    is_registered: Cell<bool>,
}

#[inline(always)]
fn words() -> &'static Words {
    let address: *const Words;
    // SAFETY: the symbol's offset from the thread pointer, added to the thread pointer, which fs:0 holds
    // itself. The words live as long as the thread, and only this thread has their address.
    unsafe {
        core::arch::asm!("mov {0}, qword ptr [rip + heapscribe_shell_thread@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]", out(reg) address, options(pure, nomem, nostack));
        &*address
    }
}

/// Whether the destructor is registered for this thread.
#[inline(always)]
pub(crate) fn is_registered() -> bool {
    words().is_registered.get()
}

/// Called in a thread that ends.
pub type ThreadExit = unsafe extern "C" fn(*mut c_void);
type Key = u32;
type KeyCreate = unsafe extern "C" fn(*mut Key, Option<ThreadExit>) -> c_int;
type SetSpecific = unsafe extern "C" fn(Key, *const c_void) -> c_int;

/// The key, and how a thread sets its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExitKey {
    key: Key,
    set: SetSpecific,
}

impl ExitKey {
    /// A key for all threads. `None` where libc has none: until glibc 2.34 a program without threads.
    pub(crate) fn new(loader: &Loader, on_exit: ThreadExit) -> Option<ExitKey> {
        let create = loader.find_anywhere(b"pthread_key_create")?;
        let set = loader.find_anywhere(b"pthread_setspecific")?;
        let mut key = 0;
        // SAFETY: POSIX's types of these functions; a key is 32 bits in glibc and musl.
        unsafe {
            let created = core::mem::transmute::<*const (), KeyCreate>(create)(&raw mut key, Some(on_exit));
            let set = core::mem::transmute::<*const (), SetSpecific>(set);
            (created == 0).then_some(ExitKey { key, set })
        }
    }

    /// Registers the destructor for this thread. That may allocate, and come here again.
    pub(crate) fn register_thread(self) {
        if !words().is_registered.replace(true) {
            // SAFETY: POSIX's function, its key, and a value that is not null.
            unsafe { (self.set)(self.key, core::ptr::without_provenance(1)) };
        }
    }
}
