//! Proof of entry.

use core::mem;

use crate::state::words::Words;
use crate::state::{Session, Thread};

/// Proof that the recorder was entered on this thread: without it nothing can be recorded.
#[derive(Debug)]
pub struct Entered {
    pub(super) words: &'static Words,
    pub(super) thread: &'static Thread,
    pub(super) session: &'static Session,
}

impl Drop for Entered {
    #[inline(always)]
    fn drop(&mut self) {
        self.thread.record.end();
        self.words.leave();
    }
}

impl Entered {
    /// Leaves the recorder while its operation on the live table goes on.
    #[inline(always)]
    pub(super) fn leave_in_operation(self) {
        let words = self.words;
        mem::forget(self);
        words.leave();
    }
}
