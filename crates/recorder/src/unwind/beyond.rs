//! What lies beyond the outermost cached frame of a stack: nothing, or another stack, from which a split stack's
//! `__morestack` went on to a new piece. What that frame reads there is not cached with it, because the other stack may have
//! been unmapped: it is read anew once that is known to be readable.
#![allow(unsafe_code)]

use heapscribe_wire::head::LossReason;

use super::frame::Registers;
use super::step::word;

/// What the outermost frame of a cached stack leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Beyond {
    /// To nothing: it is the outermost one of all, or why the path does not begin at that.
    Nothing(Option<LossReason>),
    /// To its caller on another stack.
    Stack(Onward),
}

/// A frame whose caller is on another stack: that one's `__morestack` went on to a new piece of a split stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Onward {
    /// The CFA, on the other stack.
    pub cfa: usize,
    /// How far below it rbp is saved; 0: it is in the register.
    pub saved_below: usize,
    /// The frame pointer register.
    pub bp: usize,
}

impl Onward {
    /// The lowest word of the other stack that the step there reads.
    pub(crate) fn lowest(&self) -> usize {
        self.cfa.wrapping_sub(self.saved_below.max(8))
    }

    /// The caller.
    ///
    /// # Safety
    /// - The words from [`Self::lowest`] to the CFA are readable.
    pub(crate) unsafe fn caller(&self) -> Registers {
        // SAFETY: both words lie between the lowest one and the CFA.
        unsafe {
            let bp = if self.saved_below == 0 { self.bp } else { word(self.lowest()) };
            Registers { pc: word(self.cfa.wrapping_sub(8)), sp: self.cfa, bp }
        }
    }
}
