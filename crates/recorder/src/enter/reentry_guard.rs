//! The door: one thread at a time, once at a time.
#![allow(unsafe_code)]

use heapscribe_nolibc::sys;
use heapscribe_wire::head::LossReason;

use super::entry_token::Entered;
use crate::lifecycle::{self, InheritedMemory};
use crate::live::wait_for_release;
use crate::sampling::gate;
use crate::state::words::{self, Words};
use crate::state::{self, Session, Thread, hook_flags};
use crate::unwind::{Registers, StackRange};

/// Readers of the live table that hold a call back, one after the other, until it goes on unrecorded.
const HOLDS_MAX: usize = 16;

/// Enters the recorder from a hook whose caller's registers are given. `None` when there is nothing to
/// record into, or the thread is in the recorder already: then the hook only forwards.
#[inline(always)]
pub fn enter(registers: &Registers) -> Option<Entered> {
    let words = words::words();
    if words.inside.get() != 0 {
        return reenter(words, *registers);
    }
    if words.thread.get().is_null() {
        return begin(words, *registers, InheritedMemory::Emptied);
    }
    // The mark is set before the look at session and thread: a handler that forks in between leaves its child
    // with neither, and by the mark the child knows to give this hook memory to end in.
    words.enter(registers.sp);
    // SAFETY: a thread's state stays for the life of the process.
    match (state::current(), unsafe { words.thread.get().as_ref() }) {
        (Some(session), Some(thread)) => operate(words, thread, session, registers),
        _ => {
            words.leave();
            begin(words, *registers, InheritedMemory::Emptied)
        }
    }
}

/// Begins what the hook does to the live table, if no reader holds it back. The mark is set.
#[inline(always)]
fn operate(
    words: &'static Words,
    thread: &'static Thread,
    session: &'static Session,
    registers: &Registers,
) -> Option<Entered> {
    if thread.record.begin(&session.head.hold) {
        Some(Entered { thread, session })
    } else {
        wait(words, session, *registers)
    }
}

/// Before the first call is forwarded: makes the session that says what is wanted of calls, so that this call,
/// which makes the heap and is often the longest, is timed like the others.
#[inline(always)]
pub fn settle_flags(registers: &Registers) {
    if hook_flags::are_unsettled() {
        make_session(*registers);
    }
}

#[cold]
fn make_session(registers: Registers) {
    drop(enter(&registers));
}

/// Enters once more for a call that has begun with [`Entered::remove_for_resize`]: in the same operation, so
/// that no reader sees the heap without the block that is being moved.
#[inline(always)]
pub fn resume(registers: &Registers) -> Option<Entered> {
    let words = words::words();
    if words.inside.get() != 0 || words.thread.get().is_null() {
        return enter(registers);
    }
    words.enter(registers.sp); // before the look at session and thread, as in `enter`
    // SAFETY: a thread's state stays for the life of the process.
    match (state::current(), unsafe { words.thread.get().as_ref() }) {
        (Some(session), Some(thread)) if thread.record.is_in_operation() => Some(Entered { thread, session }),
        _ => {
            words.leave();
            enter(registers) // a handler's call has ended the operation, or the session was left to a child
        }
    }
}

/// The mark is set. Either a signal handler runs while the thread was in the recorder: pass. Or the
/// hook that set it was left by `siglongjmp` from a handler, and its frame has ended.
#[cold]
fn reenter(words: &'static Words, registers: Registers) -> Option<Entered> {
    let Some(session) = state::current() else {
        return forked_inside(words, registers);
    };
    // SAFETY: a thread's state stays for the life of the process.
    let thread = unsafe { words.thread.get().as_ref() };
    session.head.count_loss(LossReason::Reentered); // also when the mark is stale: the event of that hook
    let thread = thread.filter(|thread| is_stale(words.inside.get(), registers.sp, thread.stack.get()))?;
    session.lock.release_abandoned();
    words.enter(registers.sp);
    operate(words, thread, session, &registers)
}

/// Whether the hook that was at `inside` has ended, seen from one at `sp`: this one is on the thread's own
/// stack, and that one was on another - no handler returns from there - or not above this one.
fn is_stale(inside: usize, sp: usize, own: Option<StackRange>) -> bool {
    let Some(own) = own.filter(|own| own.contains(sp)) else { return false };
    // An alternate signal stack may lie in the thread's own stack (an array of `main`).
    let alternate = sys::alternate_stack();
    let was_on_alternate = alternate.range.contains(&inside);
    !alternate.is_in_use && (was_on_alternate || !own.contains(inside) || sp >= inside)
}

/// Waits until no reader of the live table holds operations back, and enters. It waits unmarked, so that
/// signal handlers and forks find nothing begun. The mark is set, no operation has begun.
#[cold]
fn wait(words: &'static Words, session: &'static Session, registers: Registers) -> Option<Entered> {
    words.leave();
    for _ in 0..HOLDS_MAX {
        wait_for_release(&state::current()?.head.hold);
        words.enter(registers.sp);
        // SAFETY: a thread's state stays for the life of the process.
        let (Some(session), Some(thread)) = (state::current(), unsafe { words.thread.get().as_ref() }) else {
            words.leave(); // a handler has forked
            return begin(words, registers, InheritedMemory::Emptied);
        };
        if thread.record.begin(&session.head.hold) {
            session.clock.read_next();
            return Some(Entered { thread, session });
        }
        words.leave();
    }
    session.head.count_loss(LossReason::Held);
    None
}

/// The mark is set and there is no session. Either the session is being made, with signals held back, and
/// what we call for it calls the heap (musl's pthread_atfork): that is not the program's. Or this is a
/// child, forked by a handler that had interrupted the recorder: it begins anew, and leaves the memory alone
/// in which the interrupted hook will go on to its end.
#[cold]
fn forked_inside(words: &'static Words, registers: Registers) -> Option<Entered> {
    if state::is_being_made() {
        return None;
    }
    begin(words, registers, InheritedMemory::Retained)
}

/// The first hook of a thread, perhaps of the process.
#[cold]
fn begin(words: &'static Words, registers: Registers, memory: InheritedMemory) -> Option<Entered> {
    if state::is_refused() {
        // At each call of the process, so without a system call.
        if let Some(session) = state::stopped() {
            session.head.count_loss(LossReason::Forbidden);
        }
        return None;
    }
    // Before the mark: a handler that jumped away now would leave it for ever, without a thread to know it by.
    // And before the look at the session: a handler that forks leaves its child without one.
    let _blocked = sys::SignalsBlocked::new();
    let session = state::current().or_else(|| make(words, registers, memory))?;
    // SAFETY: a thread's state stays for the life of the process.
    if let Some(thread) = unsafe { words.thread.get().as_ref() } {
        words.enter(registers.sp); // a handler has entered before us
        return operate(words, thread, session, &registers);
    }
    attach(words, session, registers)
}

/// Makes this process its session, with signals blocked.
fn make(words: &Words, registers: Registers, memory: InheritedMemory) -> Option<&'static Session> {
    words.enter(registers.sp);
    let session = lifecycle::get_or_begin(memory);
    words.thread.set(core::ptr::null());
    words.leave();
    if session.is_none() && state::is_off_for_good() {
        gate::close(words);
    }
    session
}

/// Attaches a thread, with signals blocked.
fn attach(words: &'static Words, session: &'static Session, registers: Registers) -> Option<Entered> {
    words.enter(registers.sp);
    match lifecycle::attach(registers.sp, session) {
        Some(thread) => {
            words.thread.set(thread);
            operate(words, thread, session, &registers)
        }
        None => {
            words.leave();
            session.head.count_loss(LossReason::LogMemory);
            None
        }
    }
}
