//! A session file mapped into the target: sparse, grown by need, and never a reason for SIGBUS.
//!
//! The file is mapped in windows, each when it is first needed, so that what a program may have of
//! address space and of locked memory stays its own: limits that it sets later count all that is mapped
//! (`ulimit -v` in a shell, `mlockall` of a user with a small limit). The descriptor is closed at once:
//! programs close all descriptors (daemons), and a server that has given up root (nginx's workers) could
//! not open the file again. So a later window is made from the one before it: `mremap` of a shared
//! mapping with an old size of 0 maps the same file once more, from the page given, as far as asked.
//!
//! ```text
//!   window k    file k * 16 MiB .. (k + 1) * 16 MiB + 1 page      the last page is window k+1's first
//! ```
//! That last page is never opened, so that the window made from it is without access, too: under `mlockall` a mapping
//! with access would be filled.
//!
//! A window is mapped without access; what is used of it is opened with `mprotect`, and its pages
//! allocated with MADV_POPULATE_WRITE, which fails with an error code where a store to a full tmpfs would
//! have raised SIGBUS. Mappings without access are left alone by `mlockall`, which would else fill them.
#![allow(unsafe_code)]

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use heapscribe_nolibc::sys::{self, Advice, Errno, File, Open};

use super::{map_count, session_path};

const PAGE_BYTES: usize = 4096;
/// Bytes of file that a window shows.
pub(crate) const WINDOW_BYTES: usize = 16 << 20;

/// One mapped session file.
#[derive(Debug)]
pub(crate) struct SharedFile {
    /// Where each window shows its first byte of file; 0 before it is mapped.
    windows: &'static [AtomicUsize],
    file_bytes: usize,
    /// The prefix that may be read and written.
    open_bytes: AtomicUsize,
    name: &'static CStr,
    /// The kernel does not know MADV_POPULATE_WRITE (before 5.14).
    by_path: AtomicBool,
}

/// How many windows a file of that size has.
pub(crate) const fn windows_of(file_bytes: usize) -> usize {
    file_bytes.div_ceil(WINDOW_BYTES)
}

impl SharedFile {
    /// Makes the file in `dir`, `file_bytes` long without any page, and maps its first window. `windows`
    /// are [`windows_of`] zeroes.
    pub(crate) fn create(
        dir: &File,
        name: &'static CStr,
        file_bytes: usize,
        windows: &'static [AtomicUsize],
    ) -> sys::Result<SharedFile> {
        let file = dir.open_at(name, Open::CreateNew)?;
        file.truncate(file_bytes as u64)?;
        let map_bytes = mapped_bytes(file_bytes, 0);
        let base = file.map_shared_closed(map_bytes)?;
        keep_to_ourselves(base, map_bytes)?;
        windows.first().ok_or(Errno::EINVAL)?.store(base as usize, Ordering::Release);
        let (open_bytes, by_path) = (AtomicUsize::new(0), AtomicBool::new(false));
        Ok(SharedFile { windows, file_bytes, open_bytes, name, by_path })
    }

    /// Bytes that the file may have.
    pub(crate) fn file_bytes(&self) -> usize {
        self.file_bytes
    }

    /// Calls `visit` for each mapping: address and bytes.
    pub(crate) fn for_each_mapping(&self, mut visit: impl FnMut(*mut u8, usize)) {
        for (number, window) in self.windows.iter().enumerate() {
            let base = window.load(Ordering::Acquire);
            if base != 0 {
                visit(base as *mut u8, mapped_bytes(self.file_bytes, number));
            }
        }
    }

    /// A pointer to `offset`, valid to the end of its window. What it points at may be touched only when
    /// it was [`Self::provide`]d.
    #[inline(always)]
    pub(crate) fn at(&self, offset: usize) -> *mut u8 {
        let window = self.windows.get(offset / WINDOW_BYTES).map_or(0, |w| w.load(Ordering::Relaxed));
        (window + offset % WINDOW_BYTES) as *mut u8
    }

    /// Makes a range usable: opened, and its pages allocated. Callers hold the recorder's lock. The range
    /// lies within one window.
    pub(crate) fn provide(&self, offset: usize, len_bytes: usize) -> sys::Result<()> {
        let end = (offset + len_bytes).next_multiple_of(PAGE_BYTES);
        self.open(end)?;
        let start = offset & !(PAGE_BYTES - 1);
        self.populate(start, end - start)
    }

    /// Opens the file up to `end`, mapping the windows that it takes. Callers hold the recorder's lock.
    pub(crate) fn open(&self, end: usize) -> sys::Result<()> {
        if end > self.file_bytes.next_multiple_of(PAGE_BYTES) {
            return Err(Errno::ENOMEM);
        }
        let mut open = self.open_bytes.load(Ordering::Relaxed);
        while open < end {
            let number = open / WINDOW_BYTES;
            self.map_window(number)?;
            let stop = end.min((number + 1) * WINDOW_BYTES);
            // SAFETY: within the window, page-aligned.
            unsafe { sys::protect_read_write(self.at(open), stop - open) }?;
            open = stop;
            self.open_bytes.store(open, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Maps a window, the one before it being there.
    fn map_window(&self, number: usize) -> sys::Result<()> {
        let window = self.windows.get(number).ok_or(Errno::ENOMEM)?;
        if window.load(Ordering::Relaxed) != 0 {
            return Ok(());
        }
        let before =
            number.checked_sub(1).and_then(|before| self.windows.get(before)).ok_or(Errno::ENOMEM)?;
        if !map_count::is_spare() {
            return Err(Errno::ENOMEM);
        }
        let page = (before.load(Ordering::Relaxed) + WINDOW_BYTES) as *mut u8;
        let len_bytes = mapped_bytes(self.file_bytes, number);
        // SAFETY: the page behind the window before is mapped with it, shared, as there is file behind it.
        let base = unsafe { sys::map_again(page, len_bytes) }?;
        keep_to_ourselves(base, len_bytes)?;
        window.store(base as usize, Ordering::Release);
        Ok(())
    }

    fn populate(&self, start: usize, len_bytes: usize) -> sys::Result<()> {
        if !self.by_path.load(Ordering::Relaxed) {
            // SAFETY: within the opened part, page-aligned.
            match unsafe { sys::advise(self.at(start), len_bytes, Advice::PopulateWrite) } {
                Err(Errno::EINVAL) => self.by_path.store(true, Ordering::Relaxed),
                result => return result,
            }
        }
        session_path::open(self.name)?.allocate(start as u64, len_bytes as u64)
    }
}

/// Bytes that a window maps: its own, and a page of the next if there is one.
fn mapped_bytes(file_bytes: usize, number: usize) -> usize {
    (file_bytes.next_multiple_of(PAGE_BYTES) - number * WINDOW_BYTES).min(WINDOW_BYTES + PAGE_BYTES)
}

/// A child must not write its parent's session; a core dump is not to hold it.
pub(super) fn keep_to_ourselves(base: *mut u8, len_bytes: usize) -> sys::Result<()> {
    // SAFETY: a mapping that was just made and is ours.
    unsafe {
        let _ = sys::advise(base, len_bytes, Advice::DontDump);
        sys::advise(base, len_bytes, Advice::DontFork)
    }
}
