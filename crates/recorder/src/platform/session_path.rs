//! Where the session's files are: paths in static memory, since there is no other before there is a
//! session, and a forked child must still know them.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

use heapscribe_nolibc::sys::{self, Errno, File, Open};

/// Bytes of the longest path, with its NUL.
pub(crate) const PATH_BYTES_MAX: usize = 1024;

/// A path that is written by one thread and read by all after that.
struct StaticPath {
    bytes: UnsafeCell<[u8; PATH_BYTES_MAX]>,
    len: AtomicUsize,
}

// SAFETY: `set` is called only while the session is made, by the one thread that makes it; readers see
// the bytes after `len` was stored with release.
unsafe impl Sync for StaticPath {}

impl StaticPath {
    const fn new() -> Self {
        StaticPath { bytes: UnsafeCell::new([0; PATH_BYTES_MAX]), len: AtomicUsize::new(0) }
    }

    /// Joins `parts` into the path. False, and empty, when it is too long.
    fn set(&self, parts: &[&[u8]]) -> bool {
        self.len.store(0, Ordering::Release);
        // SAFETY: only the thread that makes the session is here; readers see length 0.
        let bytes = unsafe { &mut *self.bytes.get() };
        let mut at = 0;
        for part in parts {
            let Some(place) = bytes.get_mut(at..at + part.len()) else { return false };
            place.copy_from_slice(part);
            at += part.len();
        }
        let Some(end) = bytes.get_mut(at) else { return false };
        *end = 0;
        self.len.store(at, Ordering::Release);
        true
    }

    fn get(&self) -> Option<&CStr> {
        let len = self.len.load(Ordering::Acquire);
        if len == 0 {
            return None;
        }
        // SAFETY: written before `len`, and not again while a session is in use.
        let bytes = unsafe { &*self.bytes.get() };
        CStr::from_bytes_with_nul(bytes.get(..=len)?).ok()
    }
}

static BASE: StaticPath = StaticPath::new();
static DIRECTORY: StaticPath = StaticPath::new();

/// Remembers the base directory of all sessions of this recording.
pub(crate) fn set_base(path: &[u8]) -> bool {
    path.first() == Some(&b'/') && BASE.set(&[path])
}

/// The base directory.
pub(crate) fn base() -> Option<&'static CStr> {
    BASE.get()
}

/// Remembers this process's session directory, `name` in the base directory.
pub(crate) fn set_directory(name: &[u8]) -> bool {
    base().is_some_and(|base| DIRECTORY.set(&[base.to_bytes(), b"/", name]))
}

/// Opens a file of the session again.
pub(crate) fn open(name: &CStr) -> sys::Result<File> {
    directory()?.open_at(name, Open::ReadWrite)
}

/// The session's directory.
pub(super) fn path() -> Option<&'static CStr> {
    DIRECTORY.get()
}

/// Opens the session's directory.
pub(crate) fn directory() -> sys::Result<File> {
    File::open(DIRECTORY.get().ok_or(Errno::ENOENT)?, Open::Directory)
}
