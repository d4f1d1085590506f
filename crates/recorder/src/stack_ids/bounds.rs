//! Which stack a thread is on, and how far it may be read.
//!
//! The thread's own is asked for once and stays as long as the thread. It ends at the thread pointer: above there may be
//! another stack, in the same mapping. Others - a signal's, a fiber's - may be unmapped and a shorter one mapped in
//! their place: so before a walk over one that is known, its pages as far out as the cached stack goes are tried, which
//! takes a system call or a few (`sys::are_readable`), where asking for the mapping opens a file.
#![allow(unsafe_code)]

use heapscribe_nolibc::{environment, sys};

use super::capture::Capture;
use crate::platform::thread_pointer::thread_pointer;
use crate::state::{Index, OtherStacks, Session, Thread};
use crate::unwind::StackRange;

/// The stack that a hook's caller is on.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallersStack {
    /// Its mapping.
    pub range: StackRange,
    /// How far it is known to be readable.
    pub readable: usize,
    /// Whether its mapping is the one of now, and not the one that it was in before.
    pub is_certain: bool,
    /// The cached stack of it, if any.
    pub index: Option<Index>,
}

impl CallersStack {
    fn own(range: StackRange) -> CallersStack {
        CallersStack { range, readable: range.hi, is_certain: true, index: Some(Index::Own) }
    }
}

const PAGE_BYTES: usize = 4096;
/// The first thread's stack grows downwards as it is used. The kernel maps nothing else this far below its
/// top (it leaves at least 128 MiB), so an address there needs not to be asked for.
const GROWTH_BYTES_MAX: usize = 64 << 20;

/// The stack that the hook's caller is on.
pub(super) fn find(capture: &Capture<'_>) -> Option<CallersStack> {
    let (sp, thread) = (capture.registers.sp, capture.thread);
    match thread.stack.get() {
        Some(stack) if stack.contains(sp) => Some(CallersStack::own(stack)),
        Some(stack)
            if sp < stack.lo && grows(stack, thread, capture.session) && stack.hi - sp < GROWTH_BYTES_MAX =>
        {
            let grown = StackRange { lo: sp & !(PAGE_BYTES - 1), hi: stack.hi };
            thread.stack.set(Some(grown));
            Some(CallersStack::own(grown))
        }
        _ => {
            // SAFETY: the cached stacks are the thread's own, and one hook at a time uses them.
            let others = unsafe { &mut (*thread.stacks.get()).others };
            find_other(capture, sp, others, true, &[])
        }
    }
}

/// The stack that a walk goes on to, which is none of those `before`. `believes`: what is known of others, or the kernel
/// is asked.
pub(super) fn find_outer(
    capture: &Capture<'_>,
    sp: usize,
    others: &mut OtherStacks,
    believes: bool,
    before: &[Index],
) -> Option<CallersStack> {
    match capture.thread.stack.get() {
        Some(own) if own.contains(sp) => Some(CallersStack::own(own)),
        _ => find_other(capture, sp, others, believes, before),
    }
}

fn find_other(
    capture: &Capture<'_>,
    sp: usize,
    others: &mut OtherStacks,
    believes: bool,
    before: &[Index],
) -> Option<CallersStack> {
    let Capture { thread, session, .. } = *capture;
    let known = others.find(sp, |index| !before.contains(&Index::Other(index)));
    let is_callers = sp == capture.registers.sp;
    if let Some(index) = known.filter(|_| believes)
        && let Some((range, readable)) = readable_part(others, index, sp, is_callers)
    {
        return Some(CallersStack { range, readable, is_certain: false, index: Some(Index::Other(index)) });
    }
    let stack = ask_for(sp, thread, session)?;
    if thread.stack.get().is_some_and(|own| own.contains(sp)) {
        return Some(CallersStack::own(stack));
    }
    let is_in = |index: &usize| others.top(*index).is_some_and(|top| stack.hi.saturating_sub(8) >= top);
    let index = match known.filter(is_in) {
        Some(index) => {
            others.get_mut(index)?.range = stack;
            Some(index)
        }
        None => others.add(stack, &session.lock),
    };
    Some(CallersStack { range: stack, readable: stack.hi, is_certain: true, index: index.map(Index::Other) })
}

/// A known stack, and how far it can be read from `sp` on: as far as it is known to be used. What is below the stack
/// pointer of the hook's caller was just written, and so needs not to be tried.
fn readable_part(
    others: &OtherStacks,
    index: usize,
    sp: usize,
    is_callers: bool,
) -> Option<(StackRange, usize)> {
    let top = others.top(index)?;
    let range = others.get(index)?.range;
    let start = if is_callers { sp.wrapping_sub(8) & !(PAGE_BYTES - 1) } else { sp & !(PAGE_BYTES - 1) };
    let end = (top & !(PAGE_BYTES - 1)) + PAGE_BYTES;
    let pages = start + if is_callers { PAGE_BYTES } else { 0 }..end;
    let is_within = range.contains(sp) && start < end && end <= range.hi;
    (is_within && (pages.is_empty() || sys::are_readable(&pages))).then_some((range, end))
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
    let is_own = capture.thread.stack.get() == Some(stack);
    is_own && grows(stack, capture.thread, capture.session) || sp.saturating_sub(stack.lo) >= WALK_BYTES
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
    let mapping = StackRange::around(sp)?;
    let own = own_stack(mapping, thread, session);
    if let Some(own) = own.filter(|own| own.contains(sp)) {
        thread.stack.set(Some(own));
        return Some(own);
    }
    // A stack beside the thread's own may be in one mapping with it, and be unmapped before it.
    let Some(own) = thread.stack.get() else { return Some(mapping) };
    let StackRange { lo, hi } = mapping;
    let is_above = sp >= own.hi;
    Some(if is_above { StackRange { lo: lo.max(own.hi), hi } } else { StackRange { lo, hi: hi.min(own.lo) } })
}

/// The thread's own stack, if it is in this mapping and can be told. A thread's control block lies at the top of its
/// stack; that of the first thread does not, but its stack is the one that the kernel made, with nothing else in its
/// mapping. A child that a thread forked is its first thread, on the stack of that one.
fn own_stack(mapping: StackRange, thread: &Thread, session: &Session) -> Option<StackRange> {
    let known = thread.stack.get();
    let top = thread_pointer();
    let is_first = is_first_thread(thread, session);
    if let (true, None, Some(address)) = (is_first, known, environment::initial_stack()) {
        // It may run on another stack, a fiber's, when it makes its first block, even in one mapping with its control block.
        return mapping.contains(address).then_some(mapping);
    }
    if mapping.contains(top) {
        // Where it once began it stays: what is below it in the same mapping later is another stack.
        return known.is_none().then_some(StackRange { lo: mapping.lo, hi: top & !7 });
    }
    let is_same = known.is_none_or(|known| known.hi == mapping.hi);
    (is_same && is_first).then_some(mapping)
}

/// Whether the thread's own stack is the one that the kernel made, which grows downwards as it is used.
fn grows(own: StackRange, thread: &Thread, session: &Session) -> bool {
    own.hi != thread_pointer() & !7 && is_first_thread(thread, session)
}

fn is_first_thread(thread: &Thread, session: &Session) -> bool {
    session.pid == thread.tid.load(core::sync::atomic::Ordering::Relaxed)
}
