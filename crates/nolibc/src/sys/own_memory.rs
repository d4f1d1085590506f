//! This process's own memory, read and written by the kernel, which fails where there is none: a load would be the
//! program's end.
#![allow(unsafe_code)]

use super::errno::Errno;
use super::syscall::{call, number};

/// `struct iovec`.
#[repr(C)]
struct Part {
    start: usize,
    bytes: usize,
}

/// Fills `to` with the bytes from `address` on, of this process, whose number is `pid`. EFAULT when they are not all
/// there; another error where the call is not allowed.
pub fn read_own(pid: u32, address: usize, to: &mut [u8]) -> Result<(), Errno> {
    let (local, remote) = (part(to.as_mut_ptr() as usize, to.len()), part(address, to.len()));
    let arguments = [pid as usize, &raw const local as usize, 1, &raw const remote as usize, 1, 0];
    // SAFETY: the kernel writes into `to` alone, and checks the other range.
    let read = unsafe { call(number::PROCESS_VM_READV, arguments) }?;
    if read == to.len() { Ok(()) } else { Err(Errno::EFAULT) }
}

/// Pages that are read by one call, at most.
pub const PAGES_MAX: usize = 8;

/// Fills each page of `to` with the bytes from the address beside it on, up to the first that are not all there: how many
/// pages.
pub fn read_own_pages(pid: u32, addresses: &[usize; PAGES_MAX], to: &mut [[u8; 4096]]) -> usize {
    let pages = to.len().min(PAGES_MAX);
    let remote = addresses.map(|address| part(address, 4096));
    let local = part(to.as_mut_ptr() as usize, 4096 * pages);
    let arguments = [pid as usize, &raw const local as usize, 1, &raw const remote as usize, pages, 0];
    // SAFETY: the kernel writes into `to` alone, and checks the other ranges.
    let read = unsafe { call(number::PROCESS_VM_READV, arguments) };
    read.map_or(0, |bytes| bytes / 4096)
}

/// Writes one word over itself, to learn whether it may be written: not into pages that are read only. False when it was
/// another by then, or there is none.
pub fn is_writable(pid: u32, address: usize) -> bool {
    let mut word = [0; 8];
    if read_own(pid, address, &mut word).is_err() {
        return false;
    }
    let (local, remote) = (part(word.as_ptr() as usize, 8), part(address, 8));
    let arguments = [pid as usize, &raw const local as usize, 1, &raw const remote as usize, 1, 0];
    // SAFETY: the word is what was there; the kernel checks the address.
    unsafe { call(number::PROCESS_VM_WRITEV, arguments) == Ok(8) }
}

const fn part(start: usize, bytes: usize) -> Part {
    Part { start, bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{map_private, protect_none, protect_read, unmap};

    #[test]
    fn what_is_not_there_is_refused() {
        const PAGE_BYTES: usize = 4096;
        let pid = std::process::id();
        let pages = map_private(2 * PAGE_BYTES).unwrap();
        let start = pages as usize;
        let mut bytes = [9; 16];
        // SAFETY: the pages are ours.
        unsafe {
            pages.add(PAGE_BYTES - 1).write(7);
            protect_none(pages.add(PAGE_BYTES), PAGE_BYTES).unwrap();
        }
        assert!(read_own(pid, start + PAGE_BYTES - 16, &mut bytes).is_ok() && bytes[15] == 7);
        let half = read_own(pid, start + PAGE_BYTES - 8, &mut bytes);
        assert_eq!(half, Err(Errno::EFAULT), "half of it is not there");
        assert_eq!(read_own(pid, 0, &mut bytes), Err(Errno::EFAULT));
        assert!(is_writable(pid, start));
        // SAFETY: the pages are ours.
        unsafe { protect_read(pages, PAGE_BYTES).unwrap() };
        assert!(!is_writable(pid, start) && read_own(pid, start, &mut bytes).is_ok());
        // SAFETY: the pages are ours, and not used after.
        unsafe { unmap(pages, 2 * PAGE_BYTES).unwrap() };
    }
}
