//! The word by which a reader of the live table holds all operations on it back: for some milliseconds, and
//! never for long - the reader may have died.

use core::sync::atomic::{AtomicU32, Ordering};

use heapscribe_nolibc::sys;
use heapscribe_wire::head::SharedHead;
use heapscribe_wire::operation::{HOLD_NS_MAX, ThreadRecord, break_hold};

use crate::platform::clock;

const NAP_NS: u64 = 50_000;
/// Readers that hold before us, one after the other, until we give up.
const HOLDS_MAX: usize = 16;

/// Goes on with an operation that was interrupted to wait for something else.
pub(crate) fn resume_operation(record: &ThreadRecord, head: &SharedHead) {
    while !record.begin(&head.hold) {
        wait_for_release(&head.hold);
    }
}

/// Sleeps until nobody holds, or breaks the hold when it has lasted too long.
pub(crate) fn wait_for_release(hold: &AtomicU32) {
    let seen = hold.load(Ordering::Acquire);
    if seen != 0 {
        wait_for(hold, seen);
    }
}

/// Holds all operations back, as `own`. False when others do so all the time.
pub(crate) fn acquire_hold(hold: &AtomicU32, own: u32) -> bool {
    for _ in 0..HOLDS_MAX {
        match hold.compare_exchange(0, own, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return true,
            Err(seen) => wait_for(hold, seen),
        }
    }
    false
}

fn wait_for(hold: &AtomicU32, seen: u32) {
    let start = clock::monotonic_ns();
    while hold.load(Ordering::Acquire) == seen {
        if clock::monotonic_ns().wrapping_sub(start) > HOLD_NS_MAX {
            break_hold(hold, seen);
            return;
        }
        sys::sleep_ns(NAP_NS);
    }
}
