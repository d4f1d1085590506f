//! The stacks that a walk goes on to: from a signal's stack to the interrupted one, from a piece of a split stack to the
//! one before.

use heapscribe_nolibc::loader::ModuleText;

use super::bounds;
use crate::platform::lock::Lock;
use crate::state::OtherStacks;
use crate::unwind::{Context, StackRange};

/// Other stacks that a walk goes on to: a split stack may have a piece for each call, and none of it is cached.
const STACKS_MAX: u32 = 8;

/// A context that knows the thread's stacks, and asks `code` about new code.
pub(super) struct StacksMet<'a, C> {
    pub(super) code: C,
    /// The thread's own.
    pub(super) own: Option<StackRange>,
    pub(super) others: &'a mut OtherStacks,
    /// Which of the others the walk is on.
    pub(super) current: Option<usize>,
    /// Whether what is known of others is believed, or the kernel asked.
    pub(super) believes: bool,
    /// Whether anything was believed, so that asking may lead further.
    pub(super) has_believed: bool,
    /// How many stacks it went on to.
    pub(super) count: u32,
    pub(super) lock: &'a Lock,
}

impl<C: Context> Context for StacksMet<'_, C> {
    fn on_new_code(&mut self, text: &ModuleText) -> bool {
        self.code.on_new_code(text)
    }

    fn stack_around(&mut self, sp: usize, left: usize) -> Option<StackRange> {
        if let Some(current) = self.current.take() {
            self.others.left_at(current, left.wrapping_sub(8));
        }
        if let Some(own) = self.own.filter(|own| own.contains(sp)) {
            return Some(own);
        }
        self.count += 1;
        if self.count > STACKS_MAX {
            self.has_believed = false;
            return None;
        }
        let known = self.others.find(sp);
        if let Some(index) = known.filter(|_| self.believes)
            && let Some((StackRange { lo, .. }, hi)) = bounds::readable_part(self.others, index, sp)
        {
            (self.current, self.has_believed) = (known, true);
            return Some(StackRange { lo, hi });
        }
        let stack = StackRange::around(sp)?;
        self.current = known.or_else(|| self.others.add(stack, self.lock));
        Some(stack)
    }
}
