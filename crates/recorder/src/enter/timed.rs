//! Calls that need more than to be recorded: how long the heap took for them, and whether they may be made at
//! all where the program is.
#![allow(unsafe_code)]

use heapscribe_nolibc::sys;
use heapscribe_wire::head::LossReason;
use heapscribe_wire::record::Call;

use super::entry_token::Entered;
use crate::state::{self, hook_flags, words};
use crate::unwind::Registers;
use crate::{events, real_time_rules};

/// The event of a call that was written, by its ticks: no other of its thread has the same.
#[derive(Clone, Copy, Debug)]
pub struct WrittenEvent(u64);

/// A call, as far as it is known to a hook.
#[derive(Clone, Copy, Debug)]
pub struct TimedCall {
    /// The function.
    pub call: Call,
    /// Asked for; 0 when the call frees.
    pub size_bytes: u64,
    /// Of its caller.
    pub registers: Registers,
    /// How long the heap took, when that is over and wanted.
    pub took: Option<u64>,
}

impl Entered {
    /// Has `record` record a call, then writes how long it took, and leaves the recorder. A call that breaks
    /// a rule of real time stops the process here. `record` gives the size of a block that is freed.
    ///
    /// # Safety
    /// * The registers are those of the hook's caller, which is still active.
    pub unsafe fn record_timed(
        self,
        timed: &TimedCall,
        record: impl FnOnce(&Self) -> u64,
    ) -> Option<WrittenEvent> {
        let (thread, session) = (self.thread, self.session);
        let before = thread.last_ticks.get();
        let size_bytes = timed.size_bytes.max(record(&self));
        let last = thread.last_ticks.get();
        // Ticks that did not move: the call was not sampled, or had no room in the log.
        let written = (last != before).then_some(WrittenEvent(last));
        if let (Some(_), Some(units)) = (written, timed.took) {
            events::write_took(thread, units);
        }
        // SAFETY: the registers are those of the hook's caller, which is still active.
        let stops = hook_flags::are_ruled()
            && unsafe {
                real_time_rules::report_broken(timed.call, size_bytes, timed.registers, thread, session)
            };
        drop(self);
        if stops {
            sys::abort();
        }
        written
    }
}

/// Records how long a call took whose event was written before it was made.
pub fn record_took(registers: &Registers, written: WrittenEvent, units: u64) {
    let words = words::words();
    if words.inside.get() != 0 {
        return;
    }
    words.enter(registers.sp); // before the look at session and thread, as in `enter`
    // SAFETY: a thread's state stays for the life of the process.
    if let (Some(session), Some(thread)) = (state::current(), unsafe { words.thread.get().as_ref() }) {
        if thread.last_ticks.get() == written.0 {
            events::write_took(thread, units);
        } else {
            session.head.count_loss(LossReason::Untimed);
        }
    }
    words.leave();
}
