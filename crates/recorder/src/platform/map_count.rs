//! How many mappings a process may have (vm.max_map_count, 65,530 by default) is a limit that it shares with us: of a
//! program that maps up to it, one more of ours makes its own fail. So windows of session files beyond the first are
//! mapped only while some are left, and once few were seen to be left, none any more; what has no room is counted.
//!
//! The kernel tells nobody how many there are without listing them all, so it is tried: pages of one mapping are
//! given different rights in turn, each of which is a mapping of its own.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicBool, Ordering};

use heapscribe_nolibc::sys;

const PAGE_BYTES: usize = 4096;
/// Mappings that are left to the program, at least.
const LEFT: usize = 128;

static IS_SHORT: AtomicBool = AtomicBool::new(false);

/// Whether the program has mappings left when we take one more.
pub(crate) fn is_spare() -> bool {
    if IS_SHORT.load(Ordering::Relaxed) {
        return false;
    }
    let is_spare = can_split(LEFT);
    if !is_spare {
        IS_SHORT.store(true, Ordering::Relaxed);
    }
    is_spare
}

/// Whether a mapping can be split into so many.
fn can_split(pieces: usize) -> bool {
    let len_bytes = pieces * PAGE_BYTES;
    let Ok(base) = sys::map_private(len_bytes) else { return false };
    let can_be_split = |page: usize| {
        // SAFETY: a page of a mapping of ours that nothing uses.
        unsafe { sys::protect_none(base.wrapping_add(page * PAGE_BYTES), PAGE_BYTES) }.is_ok()
    };
    let is_spare = (1..pieces).step_by(2).all(can_be_split);
    // SAFETY: a mapping of ours that nothing uses.
    let _ = unsafe { sys::unmap(base, len_bytes) };
    is_spare
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_can_be_split_until_there_are_too_many() {
        assert!(can_split(LEFT));
        // More than vm.max_map_count may be is no number of pages of one mapping; what stays is checked by e2e.
        assert!(!can_split(usize::MAX / PAGE_BYTES));
        assert!(is_spare());
    }
}
