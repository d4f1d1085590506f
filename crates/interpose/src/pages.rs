//! Memory for a heap to cut blocks from.

use core::ptr::NonNull;

use heapscribe_nolibc::sys;

/// New memory of zeros, which stays, at the beginning of a page; `None` when the kernel has none. Only what
/// is written takes any, so a heap may ask for far more than it will need.
pub fn pages(bytes: usize) -> Option<NonNull<u8>> {
    sys::map_private(bytes).ok().and_then(NonNull::new)
}
