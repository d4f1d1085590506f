//! The one door to the kernel: raw system calls, each a function of its own.
//!
//! Raw, because the C library's wrappers set `errno` (the program's, which a hook must keep), may be
//! interposed by other preloaded libraries, and differ between glibc and musl. A failed call comes back
//! as [`Errno`]; nothing here allocates, locks or retries, except on `EINTR` where noted.
#![allow(unsafe_code)]

use core::ffi::CStr;

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
    pub(super) const RT_SIGPROCMASK: usize = 14;
    pub(super) const IOCTL: usize = 16;
    pub(super) const PWRITE64: usize = 18;
    pub(super) const MREMAP: usize = 25;
    pub(super) const MADVISE: usize = 28;
    pub(super) const NANOSLEEP: usize = 35;
    pub(super) const GETPID: usize = 39;
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
    pub(super) const FALLOCATE: usize = 285;
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

/// An open file that is closed when dropped, so that no descriptor of ours outlives a slow path: programs
/// close all descriptors, and reuse their numbers.
#[derive(Debug)]
pub struct File(i32);

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: plain integers; the descriptor is ours.
        let _ = unsafe { call(number::CLOSE, [self.0 as usize, 0, 0, 0, 0, 0]) };
    }
}

/// How a file is opened. All are close-on-exec and refuse a symlink as the last component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Open {
    /// Read an existing file.
    Read,
    /// Read, following symlinks: for `/proc/self/exe` and the like, where the kernel makes the links.
    ReadFollow,
    /// Read and write an existing file.
    ReadWrite,
    /// Create; it must not exist. Mode 0600.
    CreateNew,
    /// Read and write, created when missing. Mode 0600.
    Create,
    /// A directory, as a base for the `at` calls.
    Directory,
}

const O_RDWR: usize = 2;
const O_CREAT: usize = 0o100;
const O_EXCL: usize = 0o200;
const O_DIRECTORY: usize = 0o200_000;
const O_NOFOLLOW: usize = 0o400_000;
const O_CLOEXEC: usize = 0o2_000_000;
const AT_FDCWD: i32 = -100;

impl Open {
    const fn flags(self) -> usize {
        O_CLOEXEC
            | match self {
                Open::Read => O_NOFOLLOW,
                Open::ReadFollow => 0,
                Open::ReadWrite => O_RDWR | O_NOFOLLOW,
                Open::CreateNew => O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
                Open::Create => O_RDWR | O_CREAT | O_NOFOLLOW,
                Open::Directory => O_DIRECTORY | O_NOFOLLOW,
            }
    }
}

/// What `fstat` says, as far as it is of use here.
#[derive(Clone, Copy, Debug)]
pub struct Stat {
    /// Device and inode: the identity of the file.
    pub identity: (u64, u64),
    /// Type and permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Size in bytes.
    pub size_bytes: u64,
}

impl File {
    /// Opens `path`, relative to the working directory.
    pub fn open(path: &CStr, how: Open) -> Result<File> {
        Self::open_from(AT_FDCWD, path, how)
    }

    /// Opens `name` in this directory.
    pub fn open_at(&self, name: &CStr, how: Open) -> Result<File> {
        Self::open_from(self.0, name, how)
    }

    fn open_from(dir: i32, path: &CStr, how: Open) -> Result<File> {
        let a = [dir as isize as usize, path.as_ptr() as usize, how.flags(), 0o600, 0, 0];
        // SAFETY: `path` is a C string that lives through the call.
        let fd = unsafe { call(number::OPENAT, a) }?;
        Ok(File(fd as i32))
    }

    /// Makes directory `name` in this one, mode 0700. `EEXIST` when there is anything of that name.
    pub fn mkdir_at(&self, name: &CStr) -> Result<()> {
        // SAFETY: `name` is a C string that lives through the call.
        unsafe { call(number::MKDIRAT, [self.0 as usize, name.as_ptr() as usize, 0o700, 0, 0, 0]) }.map(drop)
    }

    /// Identity, mode, owner and size.
    pub fn stat(&self) -> Result<Stat> {
        let mut raw = [0u64; 18]; // struct stat is 144 bytes on x86_64
        // SAFETY: `raw` is as large as the kernel's struct stat.
        unsafe { call(number::FSTAT, [self.0 as usize, raw.as_mut_ptr() as usize, 0, 0, 0, 0]) }?;
        // st_dev 0, st_ino 8, st_nlink 16, st_mode 24 (u32), st_uid 28 (u32), st_size 48
        Ok(Stat {
            identity: (raw[0], raw[1]),
            mode: raw[3] as u32,
            uid: (raw[3] >> 32) as u32,
            size_bytes: raw[6],
        })
    }

    /// Sets the size; a sparse file when it grows. The caller keeps below [`file_size_limit`], or the
    /// kernel sends SIGXFSZ.
    pub fn truncate(&self, size_bytes: u64) -> Result<()> {
        // SAFETY: plain integers.
        unsafe { call(number::FTRUNCATE, [self.0 as usize, size_bytes as usize, 0, 0, 0, 0]) }.map(drop)
    }

    /// Allocates the pages of a range without changing what is in them.
    pub fn allocate(&self, offset: u64, len_bytes: u64) -> Result<()> {
        let a = [self.0 as usize, 0, offset as usize, len_bytes as usize, 0, 0];
        // SAFETY: plain integers.
        unsafe { call(number::FALLOCATE, a) }.map(drop)
    }

    /// Reads once, at the file's position. 0 at the end.
    pub fn read(&self, into: &mut [u8]) -> Result<usize> {
        loop {
            let a = [self.0 as usize, into.as_mut_ptr() as usize, into.len(), 0, 0, 0];
            // SAFETY: `into` is valid for its length.
            match unsafe { call(number::READ, a) } {
                Err(Errno::EINTR) => {}
                r => return r,
            }
        }
    }

    /// Reads until `into` is full or the file ends; how much was read.
    pub fn read_full(&self, into: &mut [u8]) -> Result<usize> {
        let mut n = 0;
        while n < into.len() {
            match self.read(&mut into[n..])? {
                0 => break,
                k => n += k,
            }
        }
        Ok(n)
    }

    /// Writes all of `bytes` at `offset`.
    pub fn write_all_at(&self, mut bytes: &[u8], mut offset: u64) -> Result<()> {
        while !bytes.is_empty() {
            let a = [self.0 as usize, bytes.as_ptr() as usize, bytes.len(), offset as usize, 0, 0];
            // SAFETY: `bytes` is valid for its length.
            match unsafe { call(number::PWRITE64, a) } {
                Ok(n) => {
                    bytes = bytes.get(n..).unwrap_or_default();
                    offset += n as u64;
                }
                Err(Errno::EINTR) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Maps `len_bytes` of the file from its start, shared, without access: [`protect_read_write`] opens
    /// what is used. Without access, because `mlockall` would otherwise fill all the holes.
    pub fn map_shared_closed(&self, len_bytes: usize) -> Result<*mut u8> {
        let a = [0, len_bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, self.0 as usize, 0];
        // SAFETY: a new mapping, at an address of the kernel's choice.
        unsafe { call(number::MMAP, a) }.map(|p| p as *mut u8)
    }

    /// An `ioctl` that takes one structure.
    ///
    /// # Safety
    /// `argument` must be what `request` reads and writes.
    pub unsafe fn ioctl<T>(&self, request: usize, argument: &mut T) -> Result<usize> {
        let a = [self.0 as usize, request, core::ptr::from_mut(argument) as usize, 0, 0, 0];
        // SAFETY: the caller's contract.
        unsafe { call(number::IOCTL, a) }
    }
}

fn write(fd: i32, bytes: &[u8]) -> Result<usize> {
    // SAFETY: `bytes` is valid for its length.
    unsafe { call(number::WRITE, [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) }
}

/// Says something to the person, once, on standard error; whether it got there does not matter.
pub fn say(message: &[u8]) {
    let _ = write(2, message);
}

const PROT_NONE: usize = 0;
const PROT_READ_WRITE: usize = 3;
const MAP_SHARED: usize = 1;
const MAP_PRIVATE: usize = 2;
const MAP_ANONYMOUS: usize = 0x20;
const MAP_NORESERVE: usize = 0x4000;

/// New private zeroed memory.
pub fn map_private(len_bytes: usize) -> Result<*mut u8> {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    let a = [0, len_bytes, PROT_READ_WRITE, flags, usize::MAX, 0];
    // SAFETY: a new mapping, at an address of the kernel's choice.
    unsafe { call(number::MMAP, a) }.map(|p| p as *mut u8)
}

/// Puts private zeroed memory in the place of whatever is mapped at `at`.
///
/// # Safety
/// `at .. at + len_bytes` must be a range of our own mappings that nothing else uses.
pub unsafe fn map_private_over(at: *mut u8, len_bytes: usize) -> Result<()> {
    const MAP_FIXED: usize = 0x10;
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    // SAFETY: the caller's contract.
    unsafe { call(number::MMAP, [at as usize, len_bytes, PROT_READ_WRITE, flags, usize::MAX, 0]) }.map(drop)
}

/// Gives memory back.
///
/// # Safety
/// The range must be a mapping of ours that nothing refers to.
pub unsafe fn unmap(at: *mut u8, len_bytes: usize) {
    // SAFETY: the caller's contract.
    let _ = unsafe { call(number::MUNMAP, [at as usize, len_bytes, 0, 0, 0, 0]) };
}

/// Maps the file behind the shared mapping at `page` once more, from that page on and `len_bytes` far, at
/// an address of the kernel's choice.
///
/// # Safety
/// `page` must be the address of a page of a shared file mapping of ours.
pub unsafe fn map_again(page: *mut u8, len_bytes: usize) -> Result<*mut u8> {
    const MREMAP_MAYMOVE: usize = 1;
    // SAFETY: with an old size of 0 the old mapping stays as it is.
    unsafe { call(number::MREMAP, [page as usize, 0, len_bytes, MREMAP_MAYMOVE, 0, 0]) }.map(|p| p as *mut u8)
}

/// Closes part of a mapping.
///
/// # Safety
/// The range must lie in a mapping of ours that nothing uses, page-aligned.
pub unsafe fn protect_none(at: *mut u8, len_bytes: usize) -> Result<()> {
    // SAFETY: the caller's contract.
    unsafe { call(number::MPROTECT, [at as usize, len_bytes, PROT_NONE, 0, 0, 0]) }.map(drop)
}

/// Opens part of a closed mapping for reading and writing.
///
/// # Safety
/// The range must lie in a mapping of ours, page-aligned.
pub unsafe fn protect_read_write(at: *mut u8, len_bytes: usize) -> Result<()> {
    // SAFETY: the caller's contract.
    unsafe { call(number::MPROTECT, [at as usize, len_bytes, PROT_READ_WRITE, 0, 0, 0]) }.map(drop)
}

/// What the kernel is told about a range of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// Private pages become zero, their memory goes back.
    DontNeed = 4,
    /// Not in a forked child.
    DontFork = 10,
    /// Not in core dumps.
    DontDump = 16,
    /// Zero in a forked child (Linux 4.14).
    WipeOnFork = 18,
    /// Allocate and map the pages now; `EFAULT` where a store would have meant SIGBUS (Linux 5.14).
    PopulateWrite = 23,
}

/// `madvise`.
///
/// # Safety
/// The range must lie in a mapping of ours, page-aligned.
pub unsafe fn advise(at: *mut u8, len_bytes: usize, advice: Advice) -> Result<()> {
    // SAFETY: the caller's contract; `DontNeed` empties pages of ours only.
    unsafe { call(number::MADVISE, [at as usize, len_bytes, advice as usize, 0, 0, 0]) }.map(drop)
}

/// This process.
pub fn pid() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(number::GETPID, [0; 6]) }.unwrap_or(0) as u32
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

/// The effective user.
pub fn euid() -> u32 {
    // SAFETY: no arguments.
    unsafe { call(number::GETEUID, [0; 6]) }.unwrap_or(u32::MAX as usize) as u32
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

/// The working directory, without the final NUL; how many bytes of `into` it took.
pub fn working_directory(into: &mut [u8]) -> Result<usize> {
    let a = [into.as_mut_ptr() as usize, into.len(), 0, 0, 0, 0];
    // SAFETY: `into` is valid for its length.
    unsafe { call(number::GETCWD, a) }.map(|n| n.saturating_sub(1))
}

/// Whether the calling thread is in a signal handler on its alternate stack. True when the kernel will
/// not say.
pub fn is_on_alternate_stack() -> bool {
    const SS_ONSTACK: u64 = 1;
    let mut stack = [0u64; 3]; // struct stack_t: pointer, flags (and padding), size
    // SAFETY: `stack` is as large as the kernel's structure.
    let r = unsafe { call(number::SIGALTSTACK, [0, stack.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    r.is_err() || stack[1] & SS_ONSTACK != 0
}

/// A clock's time in ns, asked of the kernel itself.
pub fn clock_ns(clock: i32) -> u64 {
    let mut t = [0u64; 2];
    // SAFETY: `t` is a struct timespec.
    let _ = unsafe { call(number::CLOCK_GETTIME, [clock as usize, t.as_mut_ptr() as usize, 0, 0, 0, 0]) };
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
