//! Calls that need more than to be told of: how long the heap took for them, and whether they may be made at
//! all where the program is.
#![allow(unsafe_code)]

use heapscribe_wire::head::Drop as Reason;
use heapscribe_wire::record::Call;

use super::Entered;
use crate::capture::Registers;
use crate::{emit, rules, session, sys, tls, ways};

/// That the event of a call was written, and when: nothing else of its thread has the same ticks.
#[derive(Clone, Copy, Debug)]
pub struct Written(u64);

/// A call, as far as it is known to a hook.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// The function.
    pub call: Call,
    /// Asked for; 0 when the call gives back.
    pub size_bytes: u64,
    /// Of its caller.
    pub registers: Registers,
    /// How long the heap took, when that is over and wanted.
    pub took: Option<u64>,
}

impl Entered {
    /// Has `tell` tell of a call, and then says how long it took, and leaves the recorder. A call that breaks
    /// a rule of real time stops the process here. `tell` gives the size of a block that goes.
    ///
    /// # Safety
    /// * The registers are those of the hook's caller.
    pub unsafe fn watch(self, watched: &Watched, tell: impl FnOnce(&Self) -> u64) -> Option<Written> {
        let (thread, session) = (self.thread, self.session);
        let before = thread.last_ticks.get();
        let size_bytes = watched.size_bytes.max(tell(&self));
        let last = thread.last_ticks.get();
        // Ticks that did not move: the call was not sampled, or had no room in the log.
        let written = (last != before).then_some(Written(last));
        if let (Some(_), Some(units)) = (written, watched.took) {
            emit::took(thread, units);
        }
        // SAFETY: the caller's contract.
        let stops = ways::are_ruled()
            && unsafe { rules::tell((watched.call, size_bytes), watched.registers, thread, session) };
        drop(self);
        if stops {
            sys::abort();
        }
        written
    }
}

/// Says how long a call took whose event was written before it was made.
pub fn took(registers: &Registers, written: Written, units: u64) {
    let words = tls::words();
    if words.inside.get() != 0 {
        return;
    }
    words.enter(registers.sp); // before the look at session and thread, as in `enter`
    // SAFETY: a thread's state stays for the life of the process.
    if let (Some(session), Some(thread)) = (session::current(), unsafe { words.thread.get().as_ref() }) {
        if thread.last_ticks.get() == written.0 {
            emit::took(thread, units);
        } else {
            session.head.drop_one(Reason::Untimed);
        }
    }
    words.leave();
}
