//! The cross-check: with `HEAPSCRIBE_VERIFY_STACKS=N` in the environment of `record` every Nth capture of each
//! thread is made a second time, from the beginning and with no cached rule, and compared. The head counts
//! both; when they differ all that was cached is forgotten and the second one is recorded.
#![allow(unsafe_code)]

use core::sync::atomic::Ordering;

use heapscribe_wire::ids::StackId;

use super::capture::{Capture, Silent, cut};
use crate::definitions::UncachedPath;
use crate::state::{CachedStacks, Session, Thread};
use crate::unwind::{StackRange, Unwinder};

/// The number that a capture has found; `None` when it was checked and is not right.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active, on `stack`.
/// * `stack` is readable from the stack pointer as far as a walk reads.
#[inline(always)]
pub(super) unsafe fn confirmed(
    capture: &Capture<'_>,
    stack: StackRange,
    stacks: &mut CachedStacks,
    id: StackId,
) -> Option<StackId> {
    if capture.session.verify_every == 0 || !is_due(capture.thread, capture.session) {
        return Some(id);
    }
    // SAFETY: the registers are the caller's, on `stack`, which is readable as far as a walk reads.
    unsafe { is_right(capture, stack, stacks, id) }.then_some(id)
}

#[cold]
fn is_due(thread: &Thread, session: &Session) -> bool {
    let count = thread.captures.get().wrapping_add(1);
    thread.captures.set(count);
    count.is_multiple_of(session.verify_every)
}

/// Whether a walk from the beginning finds the same number. A stack without a number - there was no
/// room for its definition - has nothing to compare.
///
/// # Safety
/// * The capture's registers are those of the hook's caller, which is still active, on `stack`.
/// * `stack` is readable from the stack pointer as far as a walk reads.
#[cold]
unsafe fn is_right(capture: &Capture<'_>, stack: StackRange, stacks: &mut CachedStacks, id: StackId) -> bool {
    let Capture { registers, session, unwinder, .. } = *capture;
    if id == StackId::UNKNOWN {
        return true;
    }
    let unwinder = Unwinder { cache: None, ..unwinder };
    // SAFETY: the registers are those of an active frame on `stack`, which is readable as far as a walk reads.
    let walk = unsafe { unwinder.walk(&mut Silent, registers, stack, stacks.frames) };
    let found = stacks.frames.get_mut(..walk.frames).unwrap_or_default();
    let path = UncachedPath::new(found, stacks.hashes, cut(walk.end));
    // A table that another thread replaces this instant reads as empty: looked up again under the lock.
    let find = || session.interner.find(path.hash());
    let is_right = find().or_else(|| session.lock.hold().and_then(|_held| find())) == Some(id);
    session.head.stacks_verified.fetch_add(1, Ordering::Relaxed);
    if !is_right {
        session.head.stacks_different.fetch_add(1, Ordering::Relaxed);
        stacks.forget();
    }
    is_right
}
