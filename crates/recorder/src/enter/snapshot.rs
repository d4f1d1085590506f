//! A named snapshot: the program asks for a copy of its live table as it is at this instant.
//!
//! ```text
//!   hold = own word, barrier, wait until no record is in operation, barrier: nobody is at the table
//!   write head, records and the units of the table that are there into snapshot.N
//!   hold still own? then it was exact; hold = 0; the beginning of the file, with its magic
//! ```
//! Other threads wait for as long as the copy takes, at most as long as for a reader outside. What goes
//! wrong - a bad name, a full disk - is counted, and leaves no file.
#![allow(unsafe_code)]

use core::sync::atomic::Ordering;

use heapscribe_wire::head::Drop as Reason;
use heapscribe_wire::named::{NAME_BYTES_MAX, Named, inexact};
use heapscribe_wire::operation::{HOLD_NS_MAX, break_hold};

use super::Entered;
use crate::session::Session;
use crate::{clock, named, sys};

/// How long is waited for threads that are in an operation: some microseconds, unless one was stopped.
const BUSY_NS_MAX: u64 = 50_000_000;
const NAP_NS: u64 = 20_000;
/// Readers that come before us, one after the other, until there is no snapshot.
const HOLDS: usize = 16;

impl Entered {
    /// Takes a snapshot of this name. It is counted when there is none.
    #[cold]
    pub fn snapshot(&self, name: Option<&[u8]>) {
        let is_name = |name: &&[u8]| name.len() <= NAME_BYTES_MAX && core::str::from_utf8(name).is_ok();
        let taken = name.filter(is_name).and_then(|name| self.take_snapshot(name));
        if taken.is_none() {
            self.session.head.drop_one(Reason::Snapshot);
        }
    }

    fn take_snapshot(&self, name: &[u8]) -> Option<()> {
        let (thread, session) = (self.thread, self.session);
        // A handler that jumped away would leave the others waiting.
        let _blocked = sys::SignalsBlocked::new();
        thread.record.end(); // this thread is not at the table
        let own = thread.record.tid.load(Ordering::Relaxed) | 1 << 31;
        close(session, own)?;
        let mut why = quiet(session);
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
        let written = named::write(session, &named);
        if !break_hold(&session.head.hold, own) {
            why = why.max(inexact::LOST_HOLD);
        }
        named::finish(written.ok()?, &Named { inexact: why, ..named }).ok()
    }
}

/// Holds all operations back. `None` when others do so all the time.
fn close(session: &Session, own: u32) -> Option<()> {
    let hold = &session.head.hold;
    for _ in 0..HOLDS {
        let start = clock::monotonic_ns();
        let Err(seen) = hold.compare_exchange(0, own, Ordering::AcqRel, Ordering::Acquire) else {
            return Some(());
        };
        while hold.load(Ordering::Acquire) == seen {
            if clock::monotonic_ns().wrapping_sub(start) > HOLD_NS_MAX {
                break_hold(hold, seen);
            }
            sys::sleep_ns(NAP_NS);
        }
    }
    None
}

/// Waits until nobody is at the table; why that is not so, or not known.
fn quiet(session: &Session) -> u32 {
    if session.head.threads_without_record.load(Ordering::Relaxed) != 0 {
        return inexact::NO_RECORD;
    }
    if !sys::barrier() {
        return inexact::NO_BARRIER;
    }
    let start = clock::monotonic_ns();
    while session.threads.is_any_in_operation(session) {
        if clock::monotonic_ns().wrapping_sub(start) > BUSY_NS_MAX {
            return inexact::BUSY;
        }
        sys::sleep_ns(NAP_NS);
    }
    if sys::barrier() { inexact::NOT } else { inexact::NO_BARRIER }
}
