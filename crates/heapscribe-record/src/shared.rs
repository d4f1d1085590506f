//! A session file mapped into the target: sparse, grown by need, and never a reason for SIGBUS.
//!
//! The whole file is mapped once, shared but without access, and its descriptor closed: programs close
//! all descriptors (daemons), and a server that has given up root (nginx's workers) could not open the
//! file again. What is used is opened with `mprotect` and its pages allocated with MADV_POPULATE_WRITE,
//! which fails with an error code where a store to a full tmpfs would have raised SIGBUS. Mappings
//! without access are also left alone by `mlockall`, which would otherwise fill every hole.
#![allow(unsafe_code)]

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::session_path;
use crate::sys::{self, Advice, Errno, File, Open};

const PAGE_BYTES: usize = 4096;

/// One mapped session file.
#[derive(Debug)]
pub(crate) struct SharedFile {
    base: *mut u8,
    mapped_bytes: usize,
    /// The prefix that may be read and written.
    open_bytes: AtomicUsize,
    name: &'static CStr,
    /// The kernel does not know MADV_POPULATE_WRITE (before 5.14).
    by_path: AtomicBool,
}

impl SharedFile {
    /// Makes the file in `dir`, `file_bytes` long without any page, and maps the first `map_bytes`.
    pub(crate) fn create(
        dir: &File,
        name: &'static CStr,
        file_bytes: usize,
        map_bytes: usize,
    ) -> sys::Result<SharedFile> {
        let file = dir.open_at(name, Open::CreateNew)?;
        file.truncate(file_bytes as u64)?;
        let base = file.map_shared_closed(map_bytes)?;
        // SAFETY: the mapping was just made and is ours. A child must not write its parent's session.
        unsafe {
            sys::advise(base, map_bytes, Advice::DontFork)?;
            let _ = sys::advise(base, map_bytes, Advice::DontDump);
        }
        let by_path = AtomicBool::new(false);
        Ok(SharedFile { base, mapped_bytes: map_bytes, open_bytes: AtomicUsize::new(0), name, by_path })
    }

    /// Bytes that are mapped.
    pub(crate) fn mapped_bytes(&self) -> usize {
        self.mapped_bytes
    }

    /// Address range of the mapping.
    pub(crate) fn range(&self) -> (*mut u8, usize) {
        (self.base, self.mapped_bytes)
    }

    /// A pointer to `offset`. What it points at may be touched only when it was [`Self::provide`]d.
    #[inline(always)]
    pub(crate) fn at(&self, offset: usize) -> *mut u8 {
        self.base.wrapping_add(offset)
    }

    /// Makes a range usable: opened, and its pages allocated. Callers hold the recorder's lock.
    pub(crate) fn provide(&self, offset: usize, len_bytes: usize) -> sys::Result<()> {
        let end = (offset + len_bytes).next_multiple_of(PAGE_BYTES);
        self.open(end)?;
        let start = offset & !(PAGE_BYTES - 1);
        self.populate(start, end - start)
    }

    /// Opens the file's mapping up to `end`, in growing steps so that the calls stay few.
    pub(crate) fn open(&self, end: usize) -> sys::Result<()> {
        let open = self.open_bytes.load(Ordering::Relaxed);
        if end <= open {
            return Ok(());
        }
        if end > self.mapped_bytes {
            return Err(Errno::ENOMEM);
        }
        // SAFETY: within the mapping, page-aligned.
        unsafe { sys::protect_read_write(self.at(open), end - open) }?;
        self.open_bytes.store(end, Ordering::Relaxed);
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
