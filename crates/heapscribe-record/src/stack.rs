//! From the registers at a hook's entry to the number of the stack.
#![allow(unsafe_code)]

use heapscribe_wire::head::Drop;
use heapscribe_wire::ids::StackId;

use crate::capture::{Context, End, Registers, StackRange, Unwinder, Walk};
use crate::intern::Frames;
use crate::loader::ModuleText;
use crate::session::Session;
use crate::thread::Thread;
use crate::{modules, program, tls};

struct Announcing<'a>(&'a Session);

impl Context for Announcing<'_> {
    fn on_new_code(&mut self, text: &ModuleText) {
        modules::announce(text, self.0);
    }
}

/// The number of the calling thread's stack.
///
/// # Safety
/// * `registers` are those of the hook's caller, which is still active.
#[inline(always)]
pub(crate) unsafe fn current(registers: Registers, thread: &Thread, session: &Session) -> StackId {
    let Some(loader) = program::loader() else { return StackId::UNKNOWN };
    let Some(stack) = bounds(registers.sp, thread) else {
        session.head.drop_one(Drop::StackBounds);
        return StackId::UNKNOWN;
    };
    let cache = if modules::is_closing() { None } else { program::pc_cache() };
    let unwinder = Unwinder { loader, cache };
    // SAFETY: the thread's own room for frames, used by one hook at a time.
    let room = unsafe { &mut *thread.frames.get() };
    // SAFETY: the caller's registers; the bounds hold the stack pointer.
    let walk = unsafe { unwinder.walk(&mut Announcing(session), registers, stack, room) };
    let cut = cut(&walk);
    if let Some(reason) = cut {
        session.head.drop_one(reason);
    }
    let pcs = room.get(..walk.frames).unwrap_or_default();
    intern(&Frames { pcs, guessed_from: walk.guessed_from.unwrap_or(usize::MAX), cut }, session)
}

fn cut(walk: &Walk) -> Option<Drop> {
    match walk.end {
        End::Complete => None,
        End::DepthLimit => Some(Drop::StackDepth),
        End::OtherRule => Some(Drop::StackRule),
        End::NoInfo => Some(Drop::StackNoInfo),
        End::OutOfBounds | End::UnknownStack => Some(Drop::StackBounds),
    }
}

#[inline(always)]
fn intern(frames: &Frames<'_>, session: &Session) -> StackId {
    match session.interner.find(frames, modules::generation()) {
        Some(id) => id,
        None => define(frames, session),
    }
}

#[cold]
fn define(frames: &Frames<'_>, session: &Session) -> StackId {
    let defined = session.lock.hold().and_then(|held| {
        session.interner.define(frames, modules::generation(), &session.definer, session.head, &held)
    });
    defined.unwrap_or_else(|| {
        session.head.drop_one(Drop::StackTable);
        StackId::UNKNOWN
    })
}

/// The stack that `sp` is on: the thread's own, asked for once, or another - a signal's, a fiber's -
/// which is asked for each time, since such stacks come and go.
#[inline(always)]
fn bounds(sp: usize, thread: &Thread) -> Option<StackRange> {
    match thread.stack.get() {
        Some(stack) if stack.contains(sp) => Some(stack),
        _ => ask_for_bounds(sp, thread),
    }
}

#[cold]
fn ask_for_bounds(sp: usize, thread: &Thread) -> Option<StackRange> {
    let stack = StackRange::around(sp)?;
    // A thread's control block lies at the top of its own stack; the first thread's does not, but its
    // stack is the one that the kernel made, which only ever grows downwards.
    let has_grown = |known: Option<StackRange>| known.is_none_or(|known| known.hi == stack.hi);
    if stack.contains(tls::thread_pointer()) || is_first_thread(thread) && has_grown(thread.stack.get()) {
        thread.stack.set(Some(stack));
    }
    Some(stack)
}

fn is_first_thread(thread: &Thread) -> bool {
    let session = thread.session.get();
    session.is_some_and(|s| s.pid == thread.tid.load(core::sync::atomic::Ordering::Relaxed))
}
