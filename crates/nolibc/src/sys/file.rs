//! Files: opened for a moment, closed when dropped.
#![allow(unsafe_code)]

use core::ffi::CStr;

use super::errno::{Errno, Result};
use super::memory::{MAP_FIXED, MAP_NORESERVE, MAP_SHARED, PROT_NONE, PROT_READ_WRITE};
use super::process::SignalsBlocked;
use super::syscall::{call, number};

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
    /// Create with the permissions that the umask allows; it must not exist.
    Publish,
    /// Read and write, created when missing. Mode 0600.
    Create,
    /// Write at the end, created when missing. Mode 0600.
    Append,
    /// A directory, as a base for the `at` calls.
    Directory,
}

const O_WRONLY: usize = 1;
const O_RDWR: usize = 2;
const O_CREAT: usize = 0o100;
const O_EXCL: usize = 0o200;
const O_APPEND: usize = 0o2000;
const O_DIRECTORY: usize = 0o200_000;
const O_NOFOLLOW: usize = 0o400_000;
const O_CLOEXEC: usize = 0o2_000_000;
pub(super) const AT_FDCWD: i32 = -100;
const STANDARD_ERROR: i32 = 2;

impl Open {
    const fn flags(self) -> usize {
        O_CLOEXEC
            | match self {
                Open::Read => O_NOFOLLOW,
                Open::ReadFollow => 0,
                Open::ReadWrite => O_RDWR | O_NOFOLLOW,
                Open::CreateNew | Open::Publish => O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
                Open::Create => O_RDWR | O_CREAT | O_NOFOLLOW,
                Open::Append => O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW,
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
    /// Group.
    pub gid: u32,
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
        let mode = if how == Open::Publish { 0o666 } else { 0o600 };
        let a = [dir as isize as usize, path.as_ptr() as usize, how.flags(), mode, 0, 0];
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
        stat(self.0)
    }

    /// Sets the size; a sparse file when it grows. The caller keeps below `file_size_limit`, or the
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

    /// Appends a byte to a file that was opened with [`Open::Append`]; how many bytes it has with that one: of those who append
    /// at the same time each gets a number of its own. The caller keeps below `file_size_limit`.
    pub fn append_byte(&self) -> Result<u64> {
        const SEEK_CUR: usize = 1;
        let byte = 0u8;
        // SAFETY: one byte that lives through the call; plain integers.
        unsafe {
            call(number::WRITE, [self.0 as usize, (&raw const byte) as usize, 1, 0, 0, 0])?;
            call(number::LSEEK, [self.0 as usize, 0, SEEK_CUR, 0, 0, 0]).map(|end| end as u64)
        }
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

    /// Reads once at `offset`; how much was read.
    pub fn read_at(&self, into: &mut [u8], offset: u64) -> Result<usize> {
        let a = [self.0 as usize, into.as_mut_ptr() as usize, into.len(), offset as usize, 0, 0];
        // SAFETY: `into` is valid for its length.
        unsafe { call(number::PREAD64, a) }
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

    /// Writes all of some memory at `offset`: memory that others write meanwhile, or that may not be there,
    /// which is then an error.
    ///
    /// # Safety
    /// * Not secret: every process that may read the file may read the memory.
    pub unsafe fn write_memory_at(&self, from: *const u8, len_bytes: usize, offset: u64) -> Result<()> {
        let mut done = 0;
        while done < len_bytes {
            let from = from as usize + done;
            let a = [self.0 as usize, from, len_bytes - done, offset as usize + done, 0, 0];
            // SAFETY: not secret; the kernel checks the memory, and only reads it.
            match unsafe { call(number::PWRITE64, a) } {
                Ok(n) => done += n,
                Err(Errno::EINTR) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Removes a file of this directory.
    pub fn unlink_at(&self, name: &CStr) -> Result<()> {
        // SAFETY: `name` is a C string that lives through the call.
        unsafe { call(number::UNLINKAT, [self.0 as usize, name.as_ptr() as usize, 0, 0, 0, 0]) }.map(drop)
    }

    /// Maps `len_bytes` of the file from its start, shared, without access: `protect_read_write` opens
    /// what is used. Without access, because `mlockall` would otherwise fill all the holes.
    pub fn map_shared_closed(&self, len_bytes: usize) -> Result<*mut u8> {
        let a = [0, len_bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, self.0 as usize, 0];
        // SAFETY: a new mapping, at an address of the kernel's choice.
        unsafe { call(number::MMAP, a) }.map(|p| p as *mut u8)
    }

    /// Maps `len_bytes` of the file from `offset` on, shared, for reading and writing.
    pub fn map_shared_from(&self, offset: u64, len_bytes: usize) -> Result<*mut u8> {
        let a = [0, len_bytes, PROT_READ_WRITE, MAP_SHARED, self.0 as usize, offset as usize];
        // SAFETY: a new mapping, at an address of the kernel's choice.
        unsafe { call(number::MMAP, a) }.map(|p| p as *mut u8)
    }

    /// Maps `len_bytes` of the file from its start, shared, for reading and writing, in the place of what is
    /// mapped at `at`.
    ///
    /// # Safety
    /// * Unused: `at .. at + len_bytes` is whole pages of mappings of ours, whose users take the file for
    ///   what was there.
    pub unsafe fn map_shared_over(&self, at: *mut u8, len_bytes: usize) -> Result<()> {
        let flags = MAP_SHARED | MAP_FIXED;
        // SAFETY: unused.
        unsafe { call(number::MMAP, [at as usize, len_bytes, PROT_READ_WRITE, flags, self.0 as usize, 0]) }
            .map(drop)
    }

    /// Locks the file for reading. The lock is the open file's (OFD), so it outlives this descriptor as long as
    /// a mapping that is made by it: in this process, and in all that are forked from it, until they exec or end.
    pub fn lock_shared(&self) -> Result<()> {
        const F_OFD_SETLK: usize = 37;
        let whole_file = [0u64; 4]; // struct flock: F_RDLCK from the start to the end, whatever that is
        let a = [self.0 as usize, F_OFD_SETLK, whole_file.as_ptr() as usize, 0, 0, 0];
        // SAFETY: the kernel reads a struct flock, of 32 bytes.
        unsafe { call(number::FCNTL, a) }.map(drop)
    }

    /// An `ioctl` that takes one structure.
    ///
    /// # Safety
    /// * Request: `argument` is what `request` reads and writes.
    /// * Ours: what the request changes is ours to change.
    pub unsafe fn ioctl<T>(&self, request: usize, argument: &mut T) -> Result<usize> {
        let a = [self.0 as usize, request, core::ptr::from_mut(argument) as usize, 0, 0, 0];
        // SAFETY: request; ours.
        unsafe { call(number::IOCTL, a) }
    }
}

fn stat(fd: i32) -> Result<Stat> {
    let mut raw = [0u64; 18]; // struct stat is 144 bytes on x86_64
    // SAFETY: `raw` is as large as the kernel's struct stat.
    unsafe { call(number::FSTAT, [fd as usize, raw.as_mut_ptr() as usize, 0, 0, 0, 0]) }?;
    Ok(Stat::of(&raw))
}

impl Stat {
    /// st_dev 0, st_ino 8, st_nlink 16, st_mode 24 (u32), st_uid 28 (u32), st_gid 32 (u32), st_size 48.
    pub(super) const fn of(raw: &[u64; 18]) -> Stat {
        Stat {
            identity: (raw[0], raw[1]),
            mode: raw[3] as u32,
            uid: (raw[3] >> 32) as u32,
            gid: raw[4] as u32,
            size_bytes: raw[6],
        }
    }
}

/// The room of a file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// Bytes of all of it.
    pub total_bytes: u64,
    /// Bytes that this user may still take.
    pub free_bytes: u64,
}

/// The room of the file system that `path` is on.
pub fn room(path: &CStr) -> Result<Room> {
    let mut raw = [0u64; 15]; // struct statfs is 120 bytes on x86_64
    // SAFETY: `path` is a C string that lives through the call, `raw` as large as the kernel's struct statfs.
    unsafe { call(number::STATFS, [path.as_ptr() as usize, raw.as_mut_ptr() as usize, 0, 0, 0, 0]) }?;
    // f_type 0, f_bsize 8, f_blocks 16, f_bfree 24, f_bavail 32
    let [_, block, blocks, _, free, ..] = raw;
    Ok(Room { total_bytes: blocks.saturating_mul(block), free_bytes: free.saturating_mul(block) })
}

/// Which file standard error is: programs close it, and give its number to files of theirs.
pub fn standard_error() -> Result<Stat> {
    stat(STANDARD_ERROR)
}

/// Gives a file another name, which nothing may have: `EEXIST` otherwise.
pub fn rename_new(from: &CStr, to: &CStr) -> Result<()> {
    const NO_REPLACE: usize = 1;
    let here = AT_FDCWD as isize as usize;
    // SAFETY: two C strings that live through the call.
    unsafe {
        call(number::RENAMEAT2, [here, from.as_ptr() as usize, here, to.as_ptr() as usize, NO_REPLACE, 0])
    }
    .map(drop)
}

fn write(fd: i32, bytes: &[u8]) -> Result<usize> {
    // SAFETY: `bytes` is valid for its length.
    unsafe { call(number::WRITE, [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) }
}

/// Writes a message to standard error, in one call; errors are ignored, and the signals that the kernel sends for a
/// pipe without a reader or a file at its limit do not reach the program (a program that wrote nothing itself ended by SIGXFSZ under `ulimit -f`).
pub fn write_stderr(message: &[u8]) {
    const SIGPIPE: u64 = 1 << (13 - 1);
    const SIGXFSZ: u64 = 1 << (25 - 1);
    let blocked = SignalsBlocked::new();
    let its_own = blocked.pending();
    if let Err(Errno::EPIPE | Errno::EFBIG) = write(STANDARD_ERROR, message) {
        blocked.take((SIGPIPE | SIGXFSZ) & !its_own);
    }
}
