//! How the copy is made to be of one instant.
//!
//! ```text
//!   hold = own word, barrier, wait until no record is in operation, barrier: nobody is at the table
//!   write head, records and the units of the table that are there into snapshot.N
//!   hold still own? then it was exact; hold = 0; the beginning of the file, with its magic
//! ```
//! Other threads wait for as long as the copy takes, at most as long as for a reader outside. What fails - a bad
//! name, a full disk - is counted, and leaves no file.

use core::sync::atomic::Ordering;

use heapscribe_nolibc::sys;
use heapscribe_wire::named_snapshot::{NAME_BYTES_MAX, Named, inexact};
use heapscribe_wire::operation::break_hold;

use super::file;
use crate::live::acquire_hold;
use crate::platform::clock;
use crate::state::{Session, Thread};

/// How long is waited for threads that are in an operation: some microseconds, unless one was stopped.
const BUSY_NS_MAX: u64 = 50_000_000;
const NAP_NS: u64 = 20_000;

/// Takes a snapshot of this name, ending the thread's operation. `None` when there is none.
pub(crate) fn take(name: Option<&[u8]>, thread: &Thread, session: &Session) -> Option<()> {
    let is_name = |name: &&[u8]| name.len() <= NAME_BYTES_MAX && core::str::from_utf8(name).is_ok();
    let name = name.filter(is_name)?;
    // A handler that jumped away would leave the others waiting.
    let _blocked = sys::SignalsBlocked::new();
    thread.record.end(); // this thread is not at the table
    let own = thread.record.tid.load(Ordering::Relaxed) | 1 << 31;
    if !acquire_hold(&session.head.hold, own) {
        return None;
    }
    let mut why = wait_for_operations(session);
    let named = Named {
        name,
        ticks: session.ticks(),
        mono_ns: clock::monotonic_ns(),
        real_ns: clock::realtime_ns(),
        defs_committed: session.head.defs_committed.load(Ordering::Acquire),
        thread: thread.id.get().0,
        live_units: session.head.live_units.load(Ordering::Acquire),
        records: session.head.records.load(Ordering::Acquire),
        extents: 0,
        inexact: inexact::NOT,
    };
    let written = file::write(session, &named);
    if !break_hold(&session.head.hold, own) {
        why = why.max(inexact::LOST_HOLD);
    }
    file::finish(written.ok()?, &Named { inexact: why, ..named }).ok()
}

/// Waits until nobody is at the table; why that is not so, or not known.
fn wait_for_operations(session: &Session) -> u32 {
    if session.head.threads_without_record.load(Ordering::Relaxed) != 0 {
        return inexact::NO_RECORD;
    }
    if !sys::barrier() {
        return inexact::NO_BARRIER;
    }
    let start = clock::monotonic_ns();
    while session.threads.is_any_in_operation(session.head) {
        if clock::monotonic_ns().wrapping_sub(start) > BUSY_NS_MAX {
            return inexact::BUSY;
        }
        sys::sleep_ns(NAP_NS);
    }
    if sys::barrier() { inexact::NOT } else { inexact::NO_BARRIER }
}
