//! The cross-check: with `HEAPSCRIBE_VERIFY_STACKS=N` in the environment of `record` every Nth capture of each
//! thread is made a second time, from the beginning and with no rule that was kept, and compared. The head
//! counts both; when they differ all that was kept is forgotten and the second one is recorded.
#![allow(unsafe_code)]

use core::sync::atomic::Ordering;

use heapscribe_wire::ids::StackId;

use crate::capture::{StackRange, Unwinder};
use crate::session::Session;
use crate::stack::{Capture, Silent, cut};
use crate::thread::Thread;
use crate::walks::{Walked, Walks};

/// The number that a capture has come to; `None` when it was checked and is not right.
///
/// # Safety
/// * As for `stack::current`; `stack` holds the stack pointer and is readable.
#[inline(always)]
pub(crate) unsafe fn confirmed(
    capture: &Capture<'_>,
    stack: StackRange,
    walks: &mut Walks,
    id: StackId,
) -> Option<StackId> {
    if capture.session.verify_every == 0 || !is_due(capture.thread, capture.session) {
        return Some(id);
    }
    // SAFETY: the caller's contract.
    unsafe { is_right(capture, stack, walks, id) }.then_some(id)
}

#[cold]
fn is_due(thread: &Thread, session: &Session) -> bool {
    let count = thread.captures.get().wrapping_add(1);
    thread.captures.set(count);
    count.is_multiple_of(session.verify_every)
}

/// Whether a walk from the beginning comes to the same number. A stack without a number - there was no
/// room for its definition - has nothing to compare.
///
/// # Safety
/// * As for [`confirmed`].
#[cold]
unsafe fn is_right(capture: &Capture<'_>, stack: StackRange, walks: &mut Walks, id: StackId) -> bool {
    let Capture { registers, session, unwinder, epoch, .. } = *capture;
    if id == StackId::UNKNOWN {
        return true;
    }
    let unwinder = Unwinder { cache: None, ..unwinder };
    // SAFETY: the caller's contract.
    let walk = unsafe { unwinder.walk(&mut Silent, registers, stack, walks.frames) };
    let found = walks.frames.get(..walk.frames).unwrap_or_default();
    let walked = Walked::new(found, walks.hashes, epoch.generation(), cut(walk.end));
    let is_right = session.interner.find(walked.hash()) == Some(id);
    session.head.stacks_verified.fetch_add(1, Ordering::Relaxed);
    if !is_right {
        session.head.stacks_different.fetch_add(1, Ordering::Relaxed);
        walks.forget();
    }
    is_right
}
