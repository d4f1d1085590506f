//! Room that is used only while a session is made: the stack may be a signal handler's few pages.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;

use heapscribe_wire::limits::NAME_BYTES_MAX;

/// Bytes of it.
pub(super) const SCRATCH_BYTES: usize = 2 * NAME_BYTES_MAX;

/// Room for a piece of the environment, the command line and the path of the executable.
struct Scratch(UnsafeCell<[u8; SCRATCH_BYTES]>);
// SAFETY: used only by the one thread that makes the session.
unsafe impl Sync for Scratch {}
static SCRATCH: Scratch = Scratch(UnsafeCell::new([0; SCRATCH_BYTES]));

/// The room.
///
/// # Safety
/// * The caller is the thread that makes the session.
/// * It has given up the room before it asks again.
#[allow(clippy::mut_from_ref, reason = "a static that one thread borrows at a time")]
pub(super) unsafe fn scratch() -> &'static mut [u8; SCRATCH_BYTES] {
    // SAFETY: one thread makes the session, and it has given up what it had before.
    unsafe { &mut *SCRATCH.0.get() }
}
