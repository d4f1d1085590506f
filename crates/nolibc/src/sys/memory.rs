//! Memory: mappings of our own, their protection, and advice to the kernel about them.
#![allow(unsafe_code)]

use super::errno::Result;
use super::syscall::{call, number};

pub(super) const PROT_NONE: usize = 0;
const PROT_READ: usize = 1;
pub(super) const PROT_READ_WRITE: usize = 3;
pub(super) const MAP_SHARED: usize = 1;
const MAP_PRIVATE: usize = 2;
pub(super) const MAP_FIXED: usize = 0x10;
const MAP_ANONYMOUS: usize = 0x20;
pub(super) const MAP_NORESERVE: usize = 0x4000;

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
/// * Unused: `at .. at + len_bytes` is whole pages of mappings of ours that nothing else uses.
pub unsafe fn map_private_over(at: *mut u8, len_bytes: usize) -> Result<()> {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    // SAFETY: unused: nothing of value is replaced.
    unsafe { call(number::MMAP, [at as usize, len_bytes, PROT_READ_WRITE, flags, usize::MAX, 0]) }.map(drop)
}

/// Maps the file behind the shared mapping at `page` once more, from that page on and `len_bytes` far, at
/// an address of the kernel's choice.
///
/// # Safety
/// * Ours: `page` is the address of a page of a shared file mapping of ours.
pub unsafe fn map_again(page: *mut u8, len_bytes: usize) -> Result<*mut u8> {
    const MREMAP_MAYMOVE: usize = 1;
    // SAFETY: ours; with an old size of 0 the old mapping stays as it is.
    unsafe { call(number::MREMAP, [page as usize, 0, len_bytes, MREMAP_MAYMOVE, 0, 0]) }.map(|p| p as *mut u8)
}

/// Removes a mapping.
///
/// # Safety
/// * Unused: the range is whole pages of mappings of ours that nothing uses.
pub unsafe fn unmap(at: *mut u8, len_bytes: usize) -> Result<()> {
    // SAFETY: unused.
    unsafe { call(number::MUNMAP, [at as usize, len_bytes, 0, 0, 0, 0]) }.map(drop)
}

/// Removes all access to part of a mapping.
///
/// # Safety
/// * Unused: the range is whole pages of a mapping of ours that nothing uses.
pub unsafe fn protect_none(at: *mut u8, len_bytes: usize) -> Result<()> {
    // SAFETY: unused.
    unsafe { call(number::MPROTECT, [at as usize, len_bytes, PROT_NONE, 0, 0, 0]) }.map(drop)
}

/// Allows reading and writing of part of a mapping.
///
/// # Safety
/// * Ours: the range is whole pages of a mapping of ours.
pub unsafe fn protect_read_write(at: *mut u8, len_bytes: usize) -> Result<()> {
    // SAFETY: ours.
    unsafe { call(number::MPROTECT, [at as usize, len_bytes, PROT_READ_WRITE, 0, 0, 0]) }.map(drop)
}

/// Allows reading of part of a mapping, and nothing else.
///
/// # Safety
/// * Ours: the range is whole pages of a mapping of ours that nobody writes.
pub unsafe fn protect_read(at: *mut u8, len_bytes: usize) -> Result<()> {
    // SAFETY: ours: pages that nobody writes may lose the right to be written.
    unsafe { call(number::MPROTECT, [at as usize, len_bytes, PROT_READ, 0, 0, 0]) }.map(drop)
}

/// A call of the program's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramCall {
    /// `mmap`.
    Mmap,
    /// `munmap`.
    Munmap,
    /// `mremap`.
    Mremap,
    /// `mprotect`.
    Mprotect,
}

/// Makes a call for a program whose C library is not found.
///
/// # Safety
/// * The program's: the call is one that it may make, with its arguments.
pub unsafe fn for_program(which: ProgramCall, a: [usize; 6]) -> Result<usize> {
    let n = match which {
        ProgramCall::Mmap => number::MMAP,
        ProgramCall::Munmap => number::MUNMAP,
        ProgramCall::Mremap => number::MREMAP,
        ProgramCall::Mprotect => number::MPROTECT,
    };
    // SAFETY: the program's.
    unsafe { call(n, a) }
}

/// Advice to the kernel about a range of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// Private pages become zero, their memory is freed.
    DontNeed = 4,
    /// Not in a forked child.
    DontFork = 10,
    /// In large pages, where the system gives them to who asks.
    HugePage = 14,
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
/// * Ours: the range is whole pages of a mapping of ours; with [`Advice::DontNeed`] nothing uses it.
pub unsafe fn advise(at: *mut u8, len_bytes: usize, advice: Advice) -> Result<()> {
    // SAFETY: ours.
    unsafe { call(number::MADVISE, [at as usize, len_bytes, advice as usize, 0, 0, 0]) }.map(drop)
}
