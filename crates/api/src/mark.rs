//! Points of a program: marks and snapshots.

use core::ffi::CStr;

use crate::find;

/// Marks a point that the program has reached. The report shows when that was, and how large the heap was.
///
/// A name has up to 256 bytes, what is longer is cut; a process has up to 4,096 different ones.
///
/// ```
/// heapscribe_api::mark(c"configuration read");
/// ```
#[inline(always)]
pub fn mark(name: &CStr) {
    find::mark(name);
}

/// Takes a snapshot of what is allocated at this instant, under a name of up to 64 bytes of UTF-8.
///
/// Other threads that allocate wait meanwhile, some milliseconds for a million blocks. The snapshot can be
/// looked at for as long as the session stays.
///
/// ```
/// heapscribe_api::snapshot(c"after the first request");
/// ```
#[inline(always)]
pub fn snapshot(name: &CStr) {
    find::snapshot(name);
}
