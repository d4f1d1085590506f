//! Which stack a thread is on, and how far it may be read.
//!
//! The thread's own is asked for once and stays as long as the thread. Others - a signal's, a fiber's - may be
//! unmapped and a shorter one mapped in their place: so before a walk over one that is known, each page as far
//! out as the cached stack goes is tried by a system call that reads a word of it, or fails: one call a page,
//! where asking for the mapping opens a file.
#![allow(unsafe_code)]

use heapscribe_nolibc::sys;

use super::capture::Capture;
use crate::state::{Session, Thread, words};
use crate::unwind::StackRange;

/// Which of a thread's cached stacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Index {
    /// Its own.
    Own,
    /// One of the others.
    Other(usize),
}

/// The stack that a hook's caller is on.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallersStack {
    /// Its mapping.
    pub range: StackRange,
    /// How far it is known to be readable.
    pub readable: usize,
    /// The cached stack of it, if any.
    pub index: Option<Index>,
}

impl CallersStack {
    fn own(range: StackRange) -> CallersStack {
        CallersStack { range, readable: range.hi, index: Some(Index::Own) }
    }
}

const PAGE_BYTES: usize = 4096;
/// Pages that are tried one by one; for more the kernel is asked for the mapping.
const PAGES_TRIED_MAX: usize = 12;
/// The first thread's stack grows downwards as it is used. The kernel maps nothing else this far below its
/// top (it leaves at least 128 MiB), so an address there needs not to be asked for.
const GROWTH_BYTES_MAX: usize = 64 << 20;

/// The stack that the hook's caller is on.
pub(super) fn find(capture: &Capture<'_>) -> Option<CallersStack> {
    let (sp, thread) = (capture.registers.sp, capture.thread);
    match thread.stack.get() {
        Some(stack) if stack.contains(sp) => Some(CallersStack::own(stack)),
        Some(stack)
            if sp < stack.lo
                && is_first_thread(thread, capture.session)
                && stack.hi - sp < GROWTH_BYTES_MAX =>
        {
            let grown = StackRange { lo: sp & !(PAGE_BYTES - 1), hi: stack.hi };
            thread.stack.set(Some(grown));
            Some(CallersStack::own(grown))
        }
        _ => find_other(capture),
    }
}

fn find_other(capture: &Capture<'_>) -> Option<CallersStack> {
    let sp = capture.registers.sp;
    // SAFETY: the cached stacks are the thread's own, and one hook at a time uses them.
    let stacks = unsafe { &mut *capture.thread.stacks.get() };
    if let Some(index) = stacks.find_other(sp)
        && let Some(other) = stacks.others.get(index)?.as_ref()
        && let Some(outermost) = other.stack.slot(0)
        && let Some(readable) = readable_to(sp, outermost, other.range)
    {
        return Some(CallersStack { range: other.range, readable, index: Some(Index::Other(index)) });
    }
    let stack = ask(capture)?;
    if capture.thread.stack.get().is_some_and(|own| own == stack) {
        return Some(CallersStack::own(stack));
    }
    let index = match stacks.find_other(sp) {
        Some(index) => {
            if let Some(other) = stacks.others.get_mut(index)?.as_mut()
                && other.range != stack
            {
                other.move_to(stack);
            }
            Some(index)
        }
        None => stacks.add_other(stack, &capture.session.lock),
    };
    Some(CallersStack { range: stack, readable: stack.hi, index: index.map(Index::Other) })
}

/// The end of the page of `outermost`, when all pages from `sp` to there can be read.
fn readable_to(sp: usize, outermost: usize, range: StackRange) -> Option<usize> {
    let first = sp & !(PAGE_BYTES - 1);
    let end = (outermost & !(PAGE_BYTES - 1)) + PAGE_BYTES;
    let is_near = end <= range.hi && end > first && end - first <= PAGES_TRIED_MAX * PAGE_BYTES;
    (is_near && (first..end).step_by(PAGE_BYTES).all(sys::is_readable)).then_some(end)
}

/// What a walk with all registers may take of the program's stack, and then some.
const WALK_BYTES: usize = 16 << 10;

/// Whether the program's stack has room for a walk with all registers: a signal's may have two pages.
pub(super) fn has_room(capture: &Capture<'_>, stack: StackRange) -> bool {
    let sp = capture.registers.sp;
    let alternate = sys::alternate_stack();
    if alternate.is_in_use && alternate.range.contains(&sp) {
        return sp - alternate.range.start >= WALK_BYTES;
    }
    let grows = is_first_thread(capture.thread, capture.session) && capture.thread.stack.get() == Some(stack);
    grows || sp.saturating_sub(stack.lo) >= WALK_BYTES
}

/// Asks the kernel for the stack around the caller's stack pointer.
pub(super) fn ask(capture: &Capture<'_>) -> Option<StackRange> {
    ask_for(capture.registers.sp, capture.thread, capture.session)
}

/// Asks for the bounds of a new thread's stack, so that they are known whatever happens to its first hook.
pub(crate) fn learn(sp: usize, thread: &Thread, session: &Session) {
    let _ = ask_for(sp, thread, session);
}

#[cold]
fn ask_for(sp: usize, thread: &Thread, session: &Session) -> Option<StackRange> {
    if let Some(own) = thread.stack.get().filter(|own| own.contains(sp)) {
        return Some(own);
    }
    let stack = StackRange::around(sp)?;
    // A thread's control block lies at the top of its own stack; the first thread's does not, but its
    // stack is the one that the kernel made, which only ever grows downwards.
    let has_grown = |known: Option<StackRange>| known.is_none_or(|known| known.hi == stack.hi);
    if stack.contains(words::thread_pointer())
        || is_first_thread(thread, session) && has_grown(thread.stack.get())
    {
        thread.stack.set(Some(stack));
    }
    Some(stack)
}

fn is_first_thread(thread: &Thread, session: &Session) -> bool {
    session.pid == thread.tid.load(core::sync::atomic::Ordering::Relaxed)
}
