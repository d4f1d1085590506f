//! The stacks that a walk goes on to: from a signal's stack to the interrupted one, from a piece of a split stack to the
//! one before.

use heapscribe_nolibc::loader::ModuleText;

use super::bounds;
use super::capture::Capture;
use crate::state::{Index, OtherStacks};
use crate::unwind::{Context, StackRange};

/// Stacks that a walk goes on to: a split stack may have a piece for each call, and not all of them lie in one mapping.
pub(super) const STACKS_MAX: usize = 32;

/// A context that knows the thread's stacks, and asks `code` about new code.
pub(super) struct StacksMet<'a, C> {
    pub(super) code: C,
    pub(super) capture: &'a Capture<'a>,
    pub(super) others: &'a mut OtherStacks,
    /// Which of the others the walk is on.
    pub(super) current: Option<usize>,
    /// Whether what is known of others is believed, or the kernel asked.
    pub(super) believes: bool,
    /// Whether anything was believed, so that asking may lead further.
    pub(super) has_believed: bool,
    /// How many stacks it went on to.
    pub(super) count: usize,
}

impl<C: Context> Context for StacksMet<'_, C> {
    fn on_new_code(&mut self, text: &ModuleText) -> bool {
        self.code.on_new_code(text)
    }

    fn stack_around(&mut self, sp: usize, left: usize) -> Option<StackRange> {
        if let Some(current) = self.current.take() {
            self.others.left_at(current, left.wrapping_sub(8));
        }
        self.count += 1;
        if self.count > STACKS_MAX {
            self.has_believed = false;
            return None;
        }
        let found = bounds::find_outer(self.capture, sp, self.others, self.believes, &[])?;
        self.has_believed |= !found.is_certain;
        self.current = match found.index {
            Some(Index::Other(index)) => Some(index),
            _ => None,
        };
        Some(StackRange { lo: found.range.lo, hi: found.readable })
    }
}
