//! The one door to the kernel: raw system calls, each a function of its own.
//!
//! Raw, because the C library's wrappers set `errno` (the program's, which a hook must keep), may be
//! interposed by other preloaded libraries, and differ between glibc and musl. A failed call comes back
//! as [`Errno`]; nothing here allocates, locks or retries, except on `EINTR` where noted.
#![allow(unsafe_code)]

mod file;
mod memory;
mod process;

pub use file::{File, Open, Stat, rename_new, standard_error, write_stderr};
pub use memory::{
    Advice, advise, map_again, map_private, map_private_over, protect_none, protect_read_write, unmap,
};
pub use process::{
    AlternateStack, SignalsBlocked, abort, address_space_limit, alternate_stack, barrier, clock_ns, euid,
    exit, file_size_limit, is_readable, parent_pid, pid, pid_namespace, process_exists, readlink,
    register_for_barriers, shares_memory_with_parent, sleep_ns, thread_exists, thread_name, tid,
    working_directory,
};

/// The kernel's error number, positive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errno(pub i32);

impl Errno {
    /// No such process or thread.
    pub const ESRCH: Errno = Errno(3);
    /// Not permitted.
    pub const EPERM: Errno = Errno(1);
    /// No such file.
    pub const ENOENT: Errno = Errno(2);
    /// Interrupted by a signal.
    pub const EINTR: Errno = Errno(4);
    /// File exists.
    pub const EEXIST: Errno = Errno(17);
    /// Bad address: for `madvise`, the pages could not be had (a full tmpfs).
    pub const EFAULT: Errno = Errno(14);
    /// The other end of a pipe is closed.
    pub const EPIPE: Errno = Errno(32);
    /// The file would be larger than this process may write.
    pub const EFBIG: Errno = Errno(27);
    /// Not supported: for `fallocate`, by this file system.
    pub const EOPNOTSUPP: Errno = Errno(95);
    /// Invalid argument: for `madvise`, an advice this kernel does not know.
    pub const EINVAL: Errno = Errno(22);
    /// Out of memory.
    pub const ENOMEM: Errno = Errno(12);
}

/// What a system call gives.
pub type Result<T> = core::result::Result<T, Errno>;

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!(
    "the recorder knows x86_64 Linux only so far: system calls, thread pointer and unwinding rules"
);

mod number {
    pub(super) const READ: usize = 0;
    pub(super) const WRITE: usize = 1;
    pub(super) const CLOSE: usize = 3;
    pub(super) const FSTAT: usize = 5;
    pub(super) const MMAP: usize = 9;
    pub(super) const MPROTECT: usize = 10;
    pub(super) const MUNMAP: usize = 11;
    pub(super) const RT_SIGACTION: usize = 13;
    pub(super) const RT_SIGPROCMASK: usize = 14;
    pub(super) const IOCTL: usize = 16;
    pub(super) const PWRITE64: usize = 18;
    pub(super) const MREMAP: usize = 25;
    pub(super) const MADVISE: usize = 28;
    pub(super) const NANOSLEEP: usize = 35;
    pub(super) const GETPID: usize = 39;
    pub(super) const EXIT_GROUP: usize = 231;
    pub(super) const MEMBARRIER: usize = 324;
    pub(super) const RT_SIGPENDING: usize = 127;
    pub(super) const RT_SIGTIMEDWAIT: usize = 128;
    pub(super) const KILL: usize = 62;
    pub(super) const FTRUNCATE: usize = 77;
    pub(super) const GETCWD: usize = 79;
    pub(super) const READLINK: usize = 89;
    pub(super) const GETPPID: usize = 110;
    pub(super) const GETEUID: usize = 107;
    pub(super) const SIGALTSTACK: usize = 131;
    pub(super) const PRCTL: usize = 157;
    pub(super) const GETTID: usize = 186;
    pub(super) const TGKILL: usize = 234;
    pub(super) const CLOCK_GETTIME: usize = 228;
    pub(super) const KCMP: usize = 312;
    pub(super) const OPENAT: usize = 257;
    pub(super) const MKDIRAT: usize = 258;
    pub(super) const UNLINKAT: usize = 263;
    pub(super) const FALLOCATE: usize = 285;
    pub(super) const RENAMEAT2: usize = 316;
    pub(super) const PRLIMIT64: usize = 302;
}

/// # Safety
/// The arguments must be what system call `n` takes: pointers valid for what the kernel reads and writes.
unsafe fn call(n: usize, a: [usize; 6]) -> Result<usize> {
    let ret: isize;
    // SAFETY: the x86_64 Linux convention: number in rax, arguments in rdi rsi rdx r10 r8 r9, rcx and r11
    // are lost; the caller vouches for the arguments.
    unsafe {
        core::arch::asm!("syscall", inlateout("rax") n as isize => ret, in("rdi") a[0], in("rsi") a[1],
            in("rdx") a[2], in("r10") a[3], in("r8") a[4], in("r9") a[5], lateout("rcx") _, lateout("r11") _,
            options(nostack));
    }
    if (-4095..0).contains(&ret) { Err(Errno(-ret as i32)) } else { Ok(ret as usize) }
}
