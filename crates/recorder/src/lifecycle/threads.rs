//! Threads begin. They have no end: their state is taken over some time after it.
#![allow(unsafe_code)]

use core::sync::atomic::Ordering;

use heapscribe_nolibc::sys;
use heapscribe_wire::definitions::Definition;
use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::ThreadId;
use heapscribe_wire::limits::THREADS_MAX;

use crate::state::{Counts, Lost, Session, Thread};
use crate::{events, stack_ids};

/// State for the calling thread, whose stack pointer is `sp`: an ended thread's, else new. `None` when there is
/// no memory.
pub(crate) fn attach(sp: usize, session: &Session) -> Option<&'static Thread> {
    let tid = sys::tid();
    if sys::pid() != session.pid {
        return None; // a child of vfork, in its parent's memory: its number is not this thread's
    }
    let thread = {
        let held = session.lock.hold()?;
        session.threads.claim(session.pid, tid, session.head, &held)?
    };
    if let Some(chunk) = thread.chunk.take() {
        events::seal(thread, &chunk, session);
    }
    begin(thread, tid, session);
    stack_ids::learn(sp, thread, session);
    Some(thread)
}

fn begin(thread: &Thread, tid: u32, session: &Session) {
    let number = session.head.threads.fetch_add(1, Ordering::Relaxed) + 1;
    let id = ThreadId(number.min(THREADS_MAX));
    if number > 1 {
        session.clock.read_from_now_on(session.head);
    }
    if number >= THREADS_MAX {
        session.head.count_loss(LossReason::ThreadTable);
    }
    thread.id.set(id);
    thread.record.end(); // a thread may have ended in an operation
    thread.record.thread.store(id.0, Ordering::Relaxed);
    thread.record.tid.store(tid, Ordering::Relaxed);
    thread.cursor.set(0);
    thread.limit.set(0);
    thread.sequence.set(0);
    thread.last_ticks.set(0);
    thread.last_alloc_ticks.set(0);
    thread.lost.set(Lost::default());
    thread.backoff.clear();
    thread.stack.set(None);
    thread.sampling.clear();
    // SAFETY: the thread's own; no hook is in it yet.
    unsafe {
        (*thread.stacks.get()).forget();
        (*thread.interpreted.get()).forget();
        (*thread.php.get()).end();
        (*thread.v8.get()).forget();
    }
    thread.named_modules.clear();
    thread.live.clear();
    thread.live_of_pools.clear();
    thread.sections.clear();
    thread.before.set(Counts::of(thread.record));
    define(id, tid, session);
}

fn define(id: ThreadId, tid: u32, session: &Session) {
    let name = sys::thread_name();
    let len = name.iter().position(|&b| b == 0).unwrap_or(name.len());
    let born_ticks = session.ticks();
    let definition = Definition::Thread { id, tid, born_ticks, name: &name[..len] };
    let defined = session.lock.hold().map(|held| session.definitions.append(&definition, &held));
    if !matches!(defined, Some(Ok(_))) {
        session.head.count_loss(LossReason::ThreadTable);
    }
}
