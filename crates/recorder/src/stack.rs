//! From the registers at a hook's entry to the number of the stack.
//!
//! ```text
//!   on the thread's own stack    walk again, number of the leaf's path      almost always
//!   on another one               the same, after a look that it is there    fibers, signals
//!   unusual, or a dlclose runs   walk from the beginning, keep nothing
//! ```
#![allow(unsafe_code)]

use heapscribe_wire::head::Drop;
use heapscribe_wire::ids::StackId;

use crate::capture::again::{Again, walk_again};
use crate::capture::memo;
use crate::capture::{Context, End, Frame, PathHash, Registers, StackRange, Unwinder, Walk, full_walk};
use crate::intern::Path;
use crate::loader::{Loader, ModuleText};
use crate::session::Session;
use crate::thread::Thread;
use crate::walks::{Walked, Walks};
use crate::{modules, program, stack_bounds, stack_check};

/// Walks for one stack, each ended by a module that went meanwhile.
const WALKS_MAX: usize = 16;

/// What is the same for all walks of a capture.
#[derive(Clone, Copy)]
pub(crate) struct Capture<'a> {
    pub(crate) registers: Registers,
    pub(crate) thread: &'a Thread,
    pub(crate) session: &'a Session,
    pub(crate) unwinder: Unwinder<'a>,
    pub(crate) epoch: modules::Epoch,
}

/// A walk that needs not to name modules: they are named when a stack is defined.
pub(crate) struct Silent;

impl Context for Silent {
    fn on_new_code(&mut self, _text: &ModuleText) {}
}

/// While a module is being closed, another may be where a named one was: each is looked at.
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
    let (Some(loader), cache) = (program::loader(), program::pc_cache()) else { return StackId::UNKNOWN };
    let epoch = modules::epoch();
    let unwinder = Unwinder { loader, cache };
    let capture = Capture { registers, thread, session, unwinder, epoch };
    if let Some(stack) = thread.stack.get().filter(|stack| stack.contains(registers.sp))
        && epoch.is_quiet()
    {
        // SAFETY: the thread's own, used by one hook at a time; the registers are the caller's, in the
        // thread's own stack, which is all there.
        if let Some(id) = unsafe { on_own_stack(&capture, stack, &mut *thread.walks.get()) } {
            return id;
        }
    }
    // SAFETY: the caller's contract.
    unsafe { rare(capture) }
}

/// The number of a stack that is known. `None` for all that is rare.
///
/// # Safety
/// * As for [`current`]; `stack` is the thread's own.
#[inline(always)]
unsafe fn on_own_stack(capture: &Capture<'_>, stack: StackRange, walks: &mut Walks) -> Option<StackId> {
    let Capture { registers, session, ref unwinder, epoch, .. } = *capture;
    let Walks { own, new, ways, .. } = walks;
    let (number, generation) = (epoch.number(), epoch.generation());
    if own.epoch() != number {
        return None;
    }
    // SAFETY: the caller's contract.
    let (unchanged, known) = unsafe {
        let unchanged = own.unchanged(registers.sp);
        let here = own.id_at(unchanged, registers);
        (unchanged, here.or_else(|| memo::find(ways, own, unchanged, registers, number)))
    };
    if let Some(id) = known {
        count_cut(own.cut(), session);
        // SAFETY: the caller's contract.
        return unsafe { stack_check::confirmed(capture, stack, walks, id) };
    }
    // SAFETY: the caller's contract.
    let again = unsafe {
        walk_again(own, new, unwinder, &mut Silent, registers, stack, stack.hi, unchanged, number, generation)
    };
    let Again::Walked { outer, new: count } = again else { return None };
    let leaf = own.leaf()?;
    if leaf.id == StackId::UNKNOWN {
        leaf.id = session.interner.find(leaf.hash)?;
    }
    let id = leaf.id;
    if let (Some(joined), 1..=memo::FRAMES_MAX) = (outer.checked_sub(1), count)
        && let Some(new) = new.get(..count)
        && new.iter().all(|new| new.plain().is_some())
    {
        memo::keep(ways, own, registers, new, joined, id);
    }
    count_cut(own.cut(), session);
    // SAFETY: the caller's contract.
    unsafe { stack_check::confirmed(capture, stack, walks, id) }
}

/// All that is rare: new stacks, other stacks, unusual ones.
///
/// # Safety
/// * As for [`current`].
#[cold]
#[inline(never)]
unsafe fn rare(mut capture: Capture<'_>) -> StackId {
    // A module that is found gone begins a new generation, in which the others are not named yet: walked
    // again, and named.
    for _ in 0..WALKS_MAX {
        let Some((stack, readable, index)) = stack_bounds::find(&capture) else {
            capture.session.head.drop_one(Drop::StackBounds);
            return StackId::UNKNOWN;
        };
        // SAFETY: the caller's contract; the stack is readable as far as `readable`.
        let id = unsafe {
            match index {
                _ if !capture.epoch.is_quiet() => walk_from_new(&capture, stack),
                Some(index) => walk_kept(&capture, stack, readable, index),
                None => walk_from_new(&capture, stack),
            }
        };
        if let Some(id) = id {
            return id;
        }
        capture.epoch = modules::epoch();
    }
    capture.session.head.drop_one(Drop::StackTable);
    StackId::UNKNOWN
}

/// Walks on from what is kept of a stack. `None` when it is to be tried again.
///
/// # Safety
/// * As for [`current`]; `stack` holds the stack pointer and is readable up to `readable`.
unsafe fn walk_kept(
    capture: &Capture<'_>,
    stack: StackRange,
    readable: usize,
    index: stack_bounds::Index,
) -> Option<StackId> {
    let Capture { registers, thread, session, ref unwinder, epoch } = *capture;
    // SAFETY: the thread's own, used by one hook at a time.
    let walks = unsafe { &mut *thread.walks.get() };
    let walk = match index {
        stack_bounds::Index::Own => &mut walks.own,
        stack_bounds::Index::Other(index) => &mut walks.others.get_mut(index)?.as_mut()?.1,
    };
    let (number, generation) = (epoch.number(), epoch.generation());
    if walk.epoch() != number {
        walk.forget();
    }
    // SAFETY: the caller's contract.
    let again = unsafe {
        let unchanged = walk.unchanged(registers.sp);
        walk_again(
            walk,
            walks.new,
            unwinder,
            &mut Silent,
            registers,
            stack,
            readable,
            unchanged,
            number,
            generation,
        )
    };
    let cut = walk.cut();
    match again {
        Again::Walked { .. } => {
            let hash = walk.leaf()?.hash;
            let id = number_of(&mut (walk.path(), PathHash::seed(generation, cut), cut), hash, capture)?;
            // SAFETY: the caller's contract.
            match unsafe { stack_check::confirmed(capture, stack, walks, id) } {
                Some(id) => Some(id),
                // SAFETY: the caller's contract.
                None => unsafe { walk_from_new(capture, stack) },
            }
        }
        Again::NoRoom if walks.grow(session) => None,
        // SAFETY: the caller's contract; where only a part was known to be readable the kernel is asked.
        _ => unsafe { walk_from_new(capture, stack_bounds::ask(capture).unwrap_or(stack)) },
    }
}

/// Walks from the leaf to the outermost frame. `None` when it is to be tried again.
///
/// # Safety
/// * As for [`current`]; `stack` holds the stack pointer and is readable.
unsafe fn walk_from_new(capture: &Capture<'_>, stack: StackRange) -> Option<StackId> {
    let Capture { thread, session, unwinder, epoch, .. } = *capture;
    // SAFETY: the thread's own room, used by one hook at a time.
    let walks = unsafe { &mut *thread.walks.get() };
    // SAFETY: the caller's contract.
    let walk = unsafe {
        if epoch.is_quiet() {
            walk_all(&unwinder, &mut Silent, capture, stack, walks.frames)
        } else {
            // What is found now must not be kept, and what was kept must not be used.
            let unwinder = Unwinder { cache: None, ..unwinder };
            walk_all(&unwinder, &mut Announcing(session), capture, stack, walks.frames)
        }
    };
    if walk.end == End::DepthLimit && walks.grow(session) {
        return None;
    }
    let frames = walks.frames.get(..walk.frames).unwrap_or_default();
    let mut walked = Walked::new(frames, walks.hashes, epoch.generation(), cut(walk.end));
    let hash = walked.hash();
    number_of(&mut walked, hash, capture)
}

/// Counts a stack that does not begin at an outermost frame.
#[inline(always)]
fn count_cut(cut: Option<Drop>, session: &Session) {
    if let Some(reason) = cut {
        session.head.drop_one(reason);
    }
}

/// Walks by packed rules, and where these do not suffice with all registers.
///
/// # Safety
/// * As for [`walk_from_new`].
unsafe fn walk_all<C: Context>(
    unwinder: &Unwinder<'_>,
    context: &mut C,
    capture: &Capture<'_>,
    stack: StackRange,
    frames: &mut [Frame],
) -> Walk {
    let registers = capture.registers;
    // SAFETY: the caller's contract; this thread is inside the call of the hook.
    unsafe {
        let walk = unwinder.walk(context, registers, stack, frames);
        if walk.end == End::OtherRule && stack_bounds::has_room(capture, stack) {
            return full_walk(unwinder, context, registers, stack, frames);
        }
        walk
    }
}

/// What a walk's end means for its stack.
pub(crate) fn cut(end: End) -> Option<Drop> {
    match end {
        End::Complete => None,
        End::DepthLimit => Some(Drop::StackDepth),
        End::OtherRule => Some(Drop::StackRule),
        End::NoInfo => Some(Drop::StackNoInfo),
        End::OutOfBounds | End::UnknownStack => Some(Drop::StackBounds),
    }
}

/// The number of a path, known or new. `None` when the generation has changed since before the walk.
fn number_of(path: &mut impl Path, hash: PathHash, capture: &Capture<'_>) -> Option<StackId> {
    let Capture { session, epoch, .. } = *capture;
    count_cut(path.root().1, session);
    let is_current = modules::epoch().generation() == epoch.generation();
    let known = if is_current { session.interner.find(hash) } else { None };
    match known {
        Some(id) => {
            path.set_id(path.len().wrapping_sub(1), id);
            Some(id)
        }
        None => define(path, capture),
    }
}

/// Defines a new stack. `None` when the generation has changed since before the walk.
fn define(path: &mut impl Path, capture: &Capture<'_>) -> Option<StackId> {
    let Capture { session, epoch, .. } = *capture;
    let (first, _) = session.interner.first_new(path);
    name_modules(path, first, capture);
    let held = session.lock.hold();
    if held.is_some() && modules::epoch().generation() != epoch.generation() {
        return None;
    }
    let defined = held.and_then(|held| session.interner.define(path, &session.definer, session.head, &held));
    Some(defined.unwrap_or_else(|| {
        session.head.drop_one(Drop::StackTable);
        StackId::UNKNOWN
    }))
}

/// Names the modules of frames that are to be defined, so that none is defined before its module. Done
/// here and not when a rule is found, because rules are shared with threads that were about to name a
/// module when a new generation began (a race of two plug-ins lost 61 blocks' names that way).
fn name_modules(path: &impl Path, first: usize, capture: &Capture<'_>) {
    let loader: &Loader = capture.unwinder.loader;
    let mut last: Option<ModuleText> = None;
    for index in first..path.len() {
        let (_, frame, _) = path.frame(index);
        let code = (frame.address() as usize).wrapping_sub(usize::from(!frame.is_exact()));
        if last.is_some_and(|text| text.contains(code)) {
            continue;
        }
        last = loader.find_text(code);
        if let Some(text) = &last {
            modules::announce(text, capture.session);
        }
    }
}
