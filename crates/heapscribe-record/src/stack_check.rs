//! The cross-check: with `HEAPSCRIBE_VERIFY_STACKS=N` in the environment of `record` every Nth capture of each
//! thread is made a second time, from the beginning and with no rule that was kept, and compared. The head
//! counts both; when they differ the second one is recorded.
#![allow(unsafe_code)]

use core::sync::atomic::Ordering;

use crate::capture::{Context, Frame, PathHash, StackRange, Unwinder};
use crate::loader::ModuleText;
use crate::session::Session;
use crate::stack::{Capture, cut};
use crate::thread::Thread;
use crate::walks::Walked;

struct Silent;

impl Context for Silent {
    fn on_new_code(&mut self, _text: &ModuleText) {}
}

/// Whether this capture is one to be checked.
pub(crate) fn is_due(thread: &Thread, session: &Session) -> bool {
    if session.verify_every == 0 {
        return false;
    }
    let count = thread.captures.get().wrapping_add(1);
    thread.captures.set(count);
    count.is_multiple_of(session.verify_every)
}

/// Whether a walk from the beginning, without a cache, has the same path.
///
/// # Safety
/// * As for `stack::current`; `stack` holds the stack pointer and is readable.
#[cold]
pub(crate) unsafe fn is_same(
    capture: &Capture<'_>,
    stack: StackRange,
    (frames, hashes): (&mut [Frame], &mut [PathHash]),
    hash: PathHash,
) -> bool {
    let Capture { registers, session, unwinder, epoch, .. } = *capture;
    let unwinder = Unwinder { cache: None, ..unwinder };
    // SAFETY: the caller's contract.
    let walk = unsafe { unwinder.walk(&mut Silent, registers, stack, frames) };
    let found = frames.get(..walk.frames).unwrap_or_default();
    let walked = Walked::new(found, hashes, epoch.generation(), cut(walk.end));
    let is_same = walked.hash() == hash;
    session.head.stacks_verified.fetch_add(1, Ordering::Relaxed);
    if !is_same {
        session.head.stacks_different.fetch_add(1, Ordering::Relaxed);
    }
    is_same
}
