//! The head of the session, mapped a second time and, unlike the session itself, kept over a fork. A child that
//! has no session yet finds its parent's mode in it. And by a lock that lasts as long as the mapping `record`
//! knows of the child, from the moment of the fork on, however soon the parent ends: the child has called nothing
//! then, and may have written over its environment.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicPtr, Ordering};

use heapscribe_nolibc::sys::{self, File};
use heapscribe_wire::head::{HEAD_FILE_BYTES, SharedHead};

use super::session_path;

/// Where it is. A child has its parent's there until it has its own.
static PLACE: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());

/// Maps the head of the session that is being made: in a child in the place of its parent's, whose lock ends with
/// that. `None` when it cannot be mapped.
///
/// Opened anew: a mapping made from the session's would not be kept over a fork, as that is not, and a child
/// whose gate led nowhere died at its first call. Valgrind knows no such mappings at all.
pub(crate) fn map() -> Option<*mut u8> {
    let file = session_path::open(c"head").ok()?;
    // On file systems that know no such locks the environment tells of children, as far as they keep it.
    let is_locked = file.lock_shared().is_ok();
    let place = map_in_place(&file, PLACE.load(Ordering::Acquire)).ok()?;
    PLACE.store(place, Ordering::Release);
    // SAFETY: the mapping was just made and stays; a head is atomic integers, for which all bytes are valid.
    let head = unsafe { &*place.cast::<SharedHead>() };
    head.is_locked.store(u32::from(is_locked), Ordering::Relaxed);
    Some(place)
}

/// The head of this process, or of its parent before it has one.
pub(crate) fn head() -> Option<&'static SharedHead> {
    // SAFETY: what is mapped there is a head, of atomic integers, for which all bytes are valid; it stays.
    unsafe { PLACE.load(Ordering::Acquire).cast::<SharedHead>().as_ref() }
}

fn map_in_place(file: &File, parents: *mut u8) -> sys::Result<*mut u8> {
    if parents.is_null() {
        return file.map_shared_from(0, HEAD_FILE_BYTES);
    }
    // SAFETY: a mapping of ours, of that length; who reads the mode in it, as a hook does that a handler has
    // interrupted to fork, reads this one's.
    unsafe { file.map_shared_over(parents, HEAD_FILE_BYTES) }.map(|()| parents)
}
