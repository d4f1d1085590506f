//! What tests of several parts need: a head, a session file, numbers that look random.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU32, Ordering};

use heapscribe_nolibc::sys;
use heapscribe_wire::head::SharedHead;

use crate::platform::mapped_file::{SharedFile, windows_of};

/// A head as it is when its file was just made.
pub(crate) fn head() -> &'static SharedHead {
    // SAFETY: a head is integers, for which zero is valid.
    Box::leak(unsafe { Box::<SharedHead>::new_zeroed().assume_init() })
}

/// A session file in a directory of its own, which is removed when this returns.
pub(crate) fn file(map_bytes: usize) -> SharedFile {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("heapscribe-recorder-{}-{n}", std::process::id()));
    std::fs::create_dir(&path).unwrap();
    let name = CString::new(path.as_os_str().as_bytes()).unwrap();
    let dir = sys::File::open(&name, sys::Open::Directory).unwrap();
    let windows = (0..windows_of(map_bytes)).map(|_| Default::default()).collect();
    let file = SharedFile::create(&dir, c"file", map_bytes, Vec::leak(windows)).unwrap();
    std::fs::remove_dir_all(&path).unwrap();
    file
}

/// The next of a row of numbers that look random.
pub(crate) fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
    let n = *state ^ *state >> 33;
    n.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 24
}
