//! What is the same for all walks of one capture.

use heapscribe_nolibc::loader::ModuleText;
use heapscribe_wire::head::LossReason;

use crate::state::{Session, Thread, count_cut_stack};
use crate::unwind::{Context, End, Registers, Unwinder, process_rules};
use crate::{modules, program};

/// A capture of a thread's stack.
#[derive(Clone, Copy)]
pub(super) struct Capture<'a> {
    pub(super) registers: Registers,
    pub(super) thread: &'a Thread,
    pub(super) session: &'a Session,
    pub(super) unwinder: Unwinder<'a>,
    pub(super) epoch: modules::Epoch,
}

/// Whose stack is captured.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub(super) registers: Registers,
    pub(super) thread: &'a Thread,
    pub(super) session: &'a Session,
    pub(super) epoch: modules::Epoch,
}

impl<'a> Caller<'a> {
    /// What is the same for all walks of its stack; `None` before the loader is known.
    #[inline(always)]
    pub(super) fn capture(&self) -> Option<Capture<'a>> {
        let Caller { registers, thread, session, epoch } = *self;
        let (loader, cache) = (program::loader()?, process_rules::pc_cache());
        let unwinder = Unwinder { loader, cache, known: None };
        Some(Capture { registers, thread, session, unwinder, epoch })
    }
}

/// A walk that needs not to name modules: they are named when a stack is defined.
pub(super) struct Silent;

impl Context for Silent {
    fn on_new_code(&mut self, _text: &ModuleText) -> bool {
        false
    }
}

/// What a walk's end means for its stack.
pub(super) fn cut(end: End) -> Option<LossReason> {
    match end {
        End::Complete => None,
        End::DepthLimit => Some(LossReason::StackDepth),
        End::OtherRule => Some(LossReason::StackRule),
        End::NoInfo => Some(LossReason::StackNoInfo),
        End::OutOfBounds | End::UnknownStack => Some(LossReason::StackBounds),
    }
}

impl Capture<'_> {
    /// Counts a stack that does not begin at an outermost frame.
    #[inline(always)]
    pub(super) fn count_cut(&self, cut: Option<LossReason>) {
        if let Some(reason) = cut {
            count_cut_stack(self.thread.record, reason, self.session.head);
        }
    }
}
