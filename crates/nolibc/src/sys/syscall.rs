//! How a system call is made, and their numbers.
#![allow(unsafe_code)]

use super::errno::{Errno, Result};
use super::forbidden::is_forbidden;

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!(
    "the recorder knows x86_64 Linux only so far: system calls, thread pointer and unwinding rules"
);

pub(super) mod number {
    pub(in crate::sys) const READ: usize = 0;
    pub(in crate::sys) const WRITE: usize = 1;
    pub(in crate::sys) const LSEEK: usize = 8;
    pub(in crate::sys) const CLOSE: usize = 3;
    pub(in crate::sys) const FSTAT: usize = 5;
    pub(in crate::sys) const MMAP: usize = 9;
    pub(in crate::sys) const MPROTECT: usize = 10;
    pub(in crate::sys) const MUNMAP: usize = 11;
    pub(in crate::sys) const RT_SIGACTION: usize = 13;
    pub(in crate::sys) const RT_SIGPROCMASK: usize = 14;
    pub(in crate::sys) const IOCTL: usize = 16;
    pub(in crate::sys) const PREAD64: usize = 17;
    pub(in crate::sys) const PWRITE64: usize = 18;
    pub(in crate::sys) const MREMAP: usize = 25;
    pub(in crate::sys) const MADVISE: usize = 28;
    pub(in crate::sys) const NANOSLEEP: usize = 35;
    pub(in crate::sys) const GETPID: usize = 39;
    pub(in crate::sys) const EXIT_GROUP: usize = 231;
    pub(in crate::sys) const MEMBARRIER: usize = 324;
    pub(in crate::sys) const RT_SIGPENDING: usize = 127;
    pub(in crate::sys) const FUTEX: usize = 202;
    pub(in crate::sys) const STATFS: usize = 137;
    pub(in crate::sys) const RT_SIGTIMEDWAIT: usize = 128;
    pub(in crate::sys) const KILL: usize = 62;
    pub(in crate::sys) const FCNTL: usize = 72;
    pub(in crate::sys) const FTRUNCATE: usize = 77;
    pub(in crate::sys) const GETCWD: usize = 79;
    pub(in crate::sys) const UNLINK: usize = 87;
    pub(in crate::sys) const SYMLINK: usize = 88;
    pub(in crate::sys) const READLINK: usize = 89;
    pub(in crate::sys) const GETUID: usize = 102;
    pub(in crate::sys) const GETGID: usize = 104;
    pub(in crate::sys) const GETEGID: usize = 108;
    pub(in crate::sys) const GETXATTR: usize = 191;
    pub(in crate::sys) const GETPPID: usize = 110;
    pub(in crate::sys) const GETEUID: usize = 107;
    pub(in crate::sys) const SIGALTSTACK: usize = 131;
    pub(in crate::sys) const PRCTL: usize = 157;
    pub(in crate::sys) const GETTID: usize = 186;
    pub(in crate::sys) const TGKILL: usize = 234;
    pub(in crate::sys) const CLOCK_GETTIME: usize = 228;
    pub(in crate::sys) const CLOCK_GETRES: usize = 229;
    pub(in crate::sys) const KCMP: usize = 312;
    pub(in crate::sys) const OPENAT: usize = 257;
    pub(in crate::sys) const MKDIRAT: usize = 258;
    pub(in crate::sys) const NEWFSTATAT: usize = 262;
    pub(in crate::sys) const FACCESSAT: usize = 269;
    pub(in crate::sys) const UNLINKAT: usize = 263;
    pub(in crate::sys) const FALLOCATE: usize = 285;
    pub(in crate::sys) const RENAMEAT2: usize = 316;
    pub(in crate::sys) const PRLIMIT64: usize = 302;
    pub(in crate::sys) const PROCESS_VM_READV: usize = 310;
    pub(in crate::sys) const PROCESS_VM_WRITEV: usize = 311;
}

/// Makes system call `n`.
///
/// # Safety
/// * Arguments: they are what system call `n` takes; pointers are valid for what the kernel reads and writes.
/// * Ours: what the call changes of the process - memory, descriptors, signals - is ours to change.
pub(super) unsafe fn call(n: usize, a: [usize; 6]) -> Result<usize> {
    if n != number::EXIT_GROUP && is_forbidden(n) {
        return Err(Errno::EPERM);
    }
    let ret: isize;
    // SAFETY: the x86_64 Linux convention: number in rax, arguments in rdi rsi rdx r10 r8 r9, rcx and r11
    // are lost. Arguments; ours.
    unsafe {
        core::arch::asm!("syscall", inlateout("rax") n as isize => ret, in("rdi") a[0], in("rsi") a[1],
            in("rdx") a[2], in("r10") a[3], in("r8") a[4], in("r9") a[5], lateout("rcx") _, lateout("r11") _,
            options(nostack));
    }
    if (-4095..0).contains(&ret) { Err(Errno(-ret as i32)) } else { Ok(ret as usize) }
}
