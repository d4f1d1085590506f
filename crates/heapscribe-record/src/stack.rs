//! From the registers at a hook's entry to the number of the stack.
#![allow(unsafe_code)]

use heapscribe_wire::head::Drop;
use heapscribe_wire::ids::StackId;

use crate::capture::{Context, End, Registers, StackRange, Unwinder, Walk};
use crate::intern::Frames;
use crate::loader::{Loader, ModuleText};
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
    let Some(stack) = bounds(registers.sp, thread, session) else {
        session.head.drop_one(Drop::StackBounds);
        return StackId::UNKNOWN;
    };
    // A module that is found gone begins a new generation, in which the others are not named yet: walked
    // again, and named.
    for _ in 0..WALKS_MAX {
        let generation = modules::generation();
        // SAFETY: the caller's registers; the bounds hold the stack pointer.
        let frames = unsafe { walk(registers, stack, loader, thread, session) };
        let known = if modules::generation() == generation {
            session.interner.find(&frames, generation)
        } else {
            None
        };
        let id = known.or_else(|| define(&frames, generation, session));
        if let Some(id) = id {
            if let Some(reason) = frames.cut {
                session.head.drop_one(reason);
            }
            return id;
        }
    }
    session.head.drop_one(Drop::StackTable);
    StackId::UNKNOWN
}

/// Walks for one stack, each ended by a module that went meanwhile.
const WALKS_MAX: usize = 16;

/// # Safety
/// * As for [`current`]; `stack` holds the registers' stack pointer.
#[inline(always)]
unsafe fn walk<'a>(
    registers: Registers,
    stack: StackRange,
    loader: &Loader,
    thread: &'a Thread,
    session: &Session,
) -> Frames<'a> {
    let cache = if modules::is_closing() { None } else { program::pc_cache() };
    let unwinder = Unwinder { loader, cache };
    // SAFETY: the thread's own room for frames, used by one hook at a time.
    let room = unsafe { &mut *thread.frames.get() };
    // SAFETY: the caller's contract.
    let walk = unsafe { unwinder.walk(&mut Announcing(session), registers, stack, room) };
    let pcs = room.get(..walk.frames).unwrap_or_default();
    Frames { pcs, guessed_from: walk.guessed_from.unwrap_or(usize::MAX), cut: cut(&walk) }
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

/// Defines a new stack. `None` when the generation has changed since before the walk: its modules may not
/// be named in the one that would hold it.
#[cold]
fn define(frames: &Frames<'_>, generation: u32, session: &Session) -> Option<StackId> {
    let held = session.lock.hold();
    if held.is_some() && modules::generation() != generation {
        return None;
    }
    let defined = held
        .and_then(|held| session.interner.define(frames, generation, &session.definer, session.head, &held));
    Some(defined.unwrap_or_else(|| {
        session.head.drop_one(Drop::StackTable);
        StackId::UNKNOWN
    }))
}

/// The stack that `sp` is on: the thread's own, asked for once, or another - a signal's, a fiber's -
/// which is asked for each time, since such stacks come and go.
#[inline(always)]
fn bounds(sp: usize, thread: &Thread, session: &Session) -> Option<StackRange> {
    match thread.stack.get() {
        Some(stack) if stack.contains(sp) => Some(stack),
        Some(stack)
            if sp < stack.lo && is_first_thread(thread, session) && stack.hi - sp < GROWTH_BYTES_MAX =>
        {
            let grown = StackRange { lo: sp & !0xfff, hi: stack.hi };
            thread.stack.set(Some(grown));
            Some(grown)
        }
        _ => ask_for_bounds(sp, thread, session),
    }
}

/// The first thread's stack grows downwards as it is used. The kernel maps nothing else this far below its
/// top (it leaves at least 128 MiB), so an address there needs not to be asked for.
const GROWTH_BYTES_MAX: usize = 64 << 20;

/// Asks for the bounds of a new thread's stack, so that they are known whatever happens to its first hook.
pub(crate) fn learn_bounds(sp: usize, thread: &Thread, session: &Session) {
    let _ = ask_for_bounds(sp, thread, session);
}

#[cold]
fn ask_for_bounds(sp: usize, thread: &Thread, session: &Session) -> Option<StackRange> {
    let stack = StackRange::around(sp)?;
    // A thread's control block lies at the top of its own stack; the first thread's does not, but its
    // stack is the one that the kernel made, which only ever grows downwards.
    let has_grown = |known: Option<StackRange>| known.is_none_or(|known| known.hi == stack.hi);
    if stack.contains(tls::thread_pointer())
        || is_first_thread(thread, session) && has_grown(thread.stack.get())
    {
        thread.stack.set(Some(stack));
    }
    Some(stack)
}

fn is_first_thread(thread: &Thread, session: &Session) -> bool {
    session.pid == thread.tid.load(core::sync::atomic::Ordering::Relaxed)
}
