//! Proof of entry.

use core::mem::{self, ManuallyDrop};

use crate::state::words::{self, Words};
use crate::state::{Session, Thread};

/// Proof that the recorder was entered on this thread: without it nothing can be recorded. Two words, which functions give
/// in registers; those of the thread are found as fast as they would be kept.
#[derive(Debug)]
pub struct Entered {
    pub(super) thread: &'static Thread,
    pub(super) session: &'static Session,
}

impl Drop for Entered {
    #[inline(always)]
    fn drop(&mut self) {
        self.thread.record.end();
        words::words().leave();
    }
}

impl Entered {
    /// Leaves the recorder while its operation on the live table goes on.
    #[inline(always)]
    pub(super) fn leave_in_operation(self) {
        mem::forget(self);
        words::words().leave();
    }

    /// The thread's words.
    #[inline(always)]
    pub(super) fn words(&self) -> &'static Words {
        words::words()
    }

    /// The same proof for what is out of line, so that this one stays in registers. It does not leave.
    #[inline(always)]
    pub(super) fn apart(&self) -> ManuallyDrop<Entered> {
        ManuallyDrop::new(Entered { thread: self.thread, session: self.session })
    }
}
