//! The cross-check: with `HEAPSCRIBE_VERIFY_STACKS=N` in the environment of `record` every Nth capture of each
//! thread is made a second time, from the beginning and with no cached rule, and compared. The head counts
//! both; when they differ all that was cached is forgotten and the second one is recorded.
#![allow(unsafe_code)]

use core::sync::atomic::Ordering;

use heapscribe_wire::ids::StackId;

use super::capture::{Capture, Silent, cut};
use super::native::NativeStack;
use crate::definitions::UncachedPath;
use crate::state::{CachedStacks, Session, Thread};
use crate::unwind::{StackRange, Unwinder};

/// Whether what a capture has found is right, or no check of it is due.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active, on `stack`.
/// * `stack` is readable from the stack pointer as far as a walk reads.
#[inline(always)]
pub(super) unsafe fn is_confirmed(
    capture: &Capture<'_>,
    stack: StackRange,
    stacks: &mut CachedStacks,
    found: NativeStack,
) -> bool {
    // SAFETY: the registers are the caller's, on `stack`, which is readable as far as a walk reads.
    capture.session.verify_every == 0
        || !is_due(capture.thread, capture.session)
        || unsafe { is_right(capture, stack, stacks, found) }
}

#[cold]
fn is_due(thread: &Thread, session: &Session) -> bool {
    let count = thread.captures.get().wrapping_add(1);
    thread.captures.set(count);
    count.is_multiple_of(session.verify_every)
}

/// Whether a walk from the beginning finds the same path, and that has the same number. A stack without a number - it was
/// not asked for, or there was no room for its definition - has the path alone to compare.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active, on `stack`.
/// * `stack` is readable from the stack pointer as far as a walk reads.
#[cold]
unsafe fn is_right(
    capture: &Capture<'_>,
    stack: StackRange,
    stacks: &mut CachedStacks,
    found: NativeStack,
) -> bool {
    let Capture { registers, session, unwinder, .. } = *capture;
    let unwinder = Unwinder { cache: None, ..unwinder };
    // SAFETY: the registers are those of an active frame on `stack`, which is readable as far as a walk reads.
    let walk = unsafe { unwinder.walk(&mut Silent, registers, stack, stacks.frames) };
    let walked = stacks.frames.get_mut(..walk.frames).unwrap_or_default();
    let path = UncachedPath::new(walked, stacks.hashes, cut(walk.end)).hash();
    // A table that another thread replaces this instant reads as empty: looked up again under the lock.
    let is_its = || session.interner.is_numbered(path, found.id);
    let is_numbered = || is_its() || session.lock.hold().is_some_and(|_held| is_its());
    let is_right = path == found.hash && (found.id == StackId::UNKNOWN || is_numbered());
    session.head.stacks_verified.fetch_add(1, Ordering::Relaxed);
    if !is_right {
        session.head.stacks_different.fetch_add(1, Ordering::Relaxed);
        stacks.forget();
    }
    is_right
}
