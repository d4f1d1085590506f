//! A hook that comes while a reader copies the live table: it waits outside, unmarked, so that signal
//! handlers and forks find nothing begun, and not for long - the reader may have died.
#![allow(unsafe_code)]

use core::sync::atomic::Ordering;

use heapscribe_wire::head::{Drop as Reason, SharedHead};
use heapscribe_wire::operation::{HOLD_NS_MAX, ThreadRecord, break_hold};

use super::{Entered, begin};
use crate::capture::Registers;
use crate::session::{self, Memory, Session};
use crate::tls::Words;
use crate::{clock, sys};

/// A reader holds for some milliseconds.
const NAP_NS: u64 = 50_000;
/// Readers that come one after the other, until the call goes on unrecorded.
const HOLDS: usize = 16;

/// Waits until nobody holds operations back, and enters. The mark is set, no operation has begun.
#[cold]
pub(super) fn wait(
    words: &'static Words,
    session: &'static Session,
    registers: &Registers,
) -> Option<Entered> {
    words.leave();
    for _ in 0..HOLDS {
        wait_for_release(session::current()?.head);
        words.enter(registers.sp);
        // SAFETY: a thread's state stays for the life of the process.
        let (Some(session), Some(thread)) = (session::current(), unsafe { words.thread.get().as_ref() })
        else {
            words.leave(); // a handler has forked
            return begin(words, registers, Memory::Emptied);
        };
        if thread.record.begin(&session.head.hold) {
            return Some(Entered { words, thread, session });
        }
        words.leave();
    }
    session.head.drop_one(Reason::Held);
    None
}

/// Goes on with an operation that was left for a while.
pub(crate) fn begin_again(record: &ThreadRecord, head: &SharedHead) {
    while !record.begin(&head.hold) {
        wait_for_release(head);
    }
}

/// Sleeps until the hold is gone, or takes it away when it has lasted too long.
fn wait_for_release(head: &SharedHead) {
    let seen = head.hold.load(Ordering::Acquire);
    let start = clock::monotonic_ns();
    while seen != 0 && head.hold.load(Ordering::Acquire) == seen {
        if clock::monotonic_ns().wrapping_sub(start) > HOLD_NS_MAX {
            break_hold(&head.hold, seen);
            return;
        }
        sys::sleep_ns(NAP_NS);
    }
}
