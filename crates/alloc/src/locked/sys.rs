//! System calls of the pool heap, raw: libc's would set errno, and may be interposed. A failed call
//! comes back as the kernel's error number.
#![allow(unsafe_code)]

use core::ffi::CStr;
use core::sync::atomic::AtomicU32;

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("the pool heap knows x86_64 Linux only so far: system calls and the thread pointer");

const READ: usize = 0;
const CLOSE: usize = 3;
const MMAP: usize = 9;
const MUNMAP: usize = 11;
const SCHED_YIELD: usize = 24;
const MADVISE: usize = 28;
const NANOSLEEP: usize = 35;
const GETPID: usize = 39;
const MLOCK: usize = 149;
const GETTID: usize = 186;
const FUTEX: usize = 202;
const CLOCK_GETTIME: usize = 228;
const TGKILL: usize = 234;
const OPENAT: usize = 257;

/// No such thread.
pub(super) const ESRCH: i32 = 3;
/// Invalid argument: an advice this kernel does not know.
pub(super) const EINVAL: i32 = 22;
/// The thread waits for itself.
pub(super) const EDEADLK: i32 = 35;
/// A call, or a kind of futex, that this kernel does not have or let pass.
pub(super) const ENOSYS: i32 = 38;
pub(super) const EPERM: i32 = 1;
/// The time is over.
pub(super) const ETIMEDOUT: i32 = 110;

pub(super) const MADV_HUGEPAGE: usize = 14;
pub(super) const MADV_POPULATE_WRITE: usize = 23;

/// # Safety
/// * Arguments: they are what system call `n` takes; pointers are valid for what the kernel reads and writes.
unsafe fn call(n: usize, a: [usize; 6]) -> Result<usize, i32> {
    let ret: isize;
    // SAFETY: the x86_64 Linux convention: number in rax, arguments in rdi rsi rdx r10 r8 r9, rcx and r11
    // are lost. Arguments: as the kernel wants them.
    unsafe {
        core::arch::asm!("syscall", inlateout("rax") n as isize => ret, in("rdi") a[0], in("rsi") a[1],
            in("rdx") a[2], in("r10") a[3], in("r8") a[4], in("r9") a[5], lateout("rcx") _, lateout("r11") _,
            options(nostack));
    }
    if (-4095..0).contains(&ret) { Err(-ret as i32) } else { Ok(ret as usize) }
}

/// New private zeroed memory, whose pages are allocated when they are touched. If `is_counted`, the kernel reserves
/// all of it against its overcommit limit, and refuses what it never could have; otherwise it does not count it.
pub(super) fn map(len_bytes: usize, is_counted: bool) -> Result<usize, i32> {
    const READ_WRITE: usize = 3;
    const PRIVATE_ANONYMOUS: usize = 0x2 | 0x20;
    const NORESERVE: usize = 0x4000;
    let flags = if is_counted { PRIVATE_ANONYMOUS } else { PRIVATE_ANONYMOUS | NORESERVE };
    // SAFETY: a new mapping, at an address of the kernel's choice.
    unsafe { call(MMAP, [0, len_bytes, READ_WRITE, flags, usize::MAX, 0]) }
}

/// # Safety
/// * Unused: the range is whole pages of a mapping of ours that nothing uses.
pub(super) unsafe fn unmap(at: usize, len_bytes: usize) {
    // SAFETY: unused. It cannot fail but for a range that is none.
    let _ = unsafe { call(MUNMAP, [at, len_bytes, 0, 0, 0, 0]) };
}

/// # Safety
/// * Ours: the range is whole pages of a mapping of ours.
/// * Contents: the advice leaves them as they are, or nobody uses them.
pub(super) unsafe fn advise(at: usize, len_bytes: usize, advice: usize) -> Result<(), i32> {
    // SAFETY: ours; contents.
    unsafe { call(MADVISE, [at, len_bytes, advice, 0, 0, 0]) }.map(drop)
}

/// # Safety
/// * Ours: the range lies in a mapping of ours.
pub(super) unsafe fn lock_in_memory(at: usize, len_bytes: usize) -> Result<(), i32> {
    // SAFETY: ours.
    unsafe { call(MLOCK, [at, len_bytes, 0, 0, 0, 0]) }.map(drop)
}

/// As much of the beginning of a file as there is room for; its path must be a whole one.
pub(super) fn read_file<'a>(path: &CStr, room: &'a mut [u8]) -> Result<&'a [u8], i32> {
    const READ_ONLY_CLOSE_ON_EXEC: usize = 0o2_000_000;
    // SAFETY: a C string, that the kernel reads.
    let file =
        unsafe { call(OPENAT, [usize::MAX, path.as_ptr() as usize, READ_ONLY_CLOSE_ON_EXEC, 0, 0, 0]) }?;
    // SAFETY: the kernel writes into the room, and no further.
    let read = unsafe { call(READ, [file, room.as_mut_ptr() as usize, room.len(), 0, 0, 0]) };
    // SAFETY: the file just opened, which nobody else knows of.
    let _ = unsafe { call(CLOSE, [file, 0, 0, 0, 0, 0]) };
    Ok(room.get(..read?).unwrap_or_default())
}

/// The kernel's number of this thread.
pub(super) fn thread_id() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { call(GETTID, [0; 6]) }.unwrap_or(0) as u32
}

/// Whether this process has a thread of this number; when the kernel does not say, it has.
pub(super) fn is_thread(id: u32) -> bool {
    const NO_SIGNAL: usize = 0;
    // SAFETY: takes nothing and cannot fail.
    let process = unsafe { call(GETPID, [0; 6]) }.unwrap_or(0);
    // SAFETY: signal 0 is not sent: only whether it could be is looked at.
    let answer = unsafe { call(TGKILL, [process, id as usize, NO_SIGNAL, 0, 0, 0]) };
    answer != Err(ESRCH)
}

/// Lets other threads run that wait for this core.
pub(super) fn yield_core() {
    // SAFETY: takes nothing and cannot fail.
    let _ = unsafe { call(SCHED_YIELD, [0; 6]) };
}

/// Sleeps for so long, or until a signal.
pub(super) fn sleep_ns(ns: u32) {
    let time = [0u64, u64::from(ns)];
    // SAFETY: the kernel reads two words.
    let _ = unsafe { call(NANOSLEEP, [time.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// Waits at most so long for a lock of the kernel's protocol for priority inheritance; on success the word is this
/// thread's.
pub(super) fn futex_lock_pi(word: &AtomicU32, at_most_ns: u32) -> Result<(), i32> {
    const LOCK_PI_PRIVATE: usize = 6 | 128;
    const SECOND_NS: u64 = 1_000_000_000;
    const REALTIME: usize = 0; // the clock that this call goes by
    let mut until = [0u64; 2];
    // SAFETY: the kernel writes two words.
    let _ = unsafe { call(CLOCK_GETTIME, [REALTIME, until.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    let ns = until[1] + u64::from(at_most_ns);
    until = [until[0] + ns / SECOND_NS, ns % SECOND_NS];
    let arguments = [word.as_ptr() as usize, LOCK_PI_PRIVATE, 0, until.as_ptr() as usize, 0, 0];
    // SAFETY: word and time are there as long as the call.
    unsafe { call(FUTEX, arguments) }.map(drop)
}

/// Hands the lock to the waiter of the highest priority.
pub(super) fn futex_unlock_pi(word: &AtomicU32) -> Result<(), i32> {
    const UNLOCK_PI_PRIVATE: usize = 7 | 128;
    // SAFETY: the word is there as long as the call.
    unsafe { call(FUTEX, [word.as_ptr() as usize, UNLOCK_PI_PRIVATE, 0, 0, 0, 0]) }.map(drop)
}
