//! The number of a walked path, defined when it is new.

use core::sync::atomic::Ordering;

use heapscribe_nolibc::loader::{Loader, ModuleText};
use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::StackId;

use super::capture::Capture;
use crate::definitions::Path;
use crate::interpreter::{check, met};
use crate::modules;
use crate::platform::lock::Held;
use crate::state::Session;
use crate::unwind::{Frame, PathHash};

/// The number of a path, known or new. `None` when the generation has changed since before the walk.
pub(super) fn number_of(path: &mut impl Path, hash: PathHash, capture: &Capture<'_>) -> Option<StackId> {
    capture.count_cut(path.cut());
    capture.count_cut(path.has_gap().then_some(LossReason::StackDepth));
    numbered(path, hash, capture)
}

/// The same, where it was counted before whether the path is cut.
pub(super) fn numbered(path: &mut impl Path, hash: PathHash, capture: &Capture<'_>) -> Option<StackId> {
    let Capture { session, epoch, .. } = *capture;
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

/// Defines a stack that was not found. `None` when the generation has changed since before the walk.
pub(super) fn define(path: &mut impl Path, capture: &Capture<'_>) -> Option<StackId> {
    let Capture { session, epoch, .. } = *capture;
    path.prepare();
    session.interner.prefetch(path);
    let unloadable = |frame: Frame| code_of(frame).map_or(0, modules::unloadable_bit);
    let known = session.interner.known_part(path, unloadable);
    if known.len < path.len() && session.definitions.is_refused() {
        session.head.count_loss(LossReason::StackTable);
        return Some(StackId::UNKNOWN);
    }
    name_modules(path, known.len, capture);
    if session.reads_interpreters {
        met::define(&session.interpreters, &session.definitions, &session.lock);
    }
    let mut define = |held: &Held<'_>| {
        let is_current = modules::epoch().generation() == epoch.generation();
        is_current.then(|| session.interner.define(path, known, &session.definitions, unloadable, held))
    };
    let mut defined = None;
    if is_only_thread(session)
        && let Some(held) = session.lock.hold_alone()
    {
        defined = define(&held)?;
    }
    if defined.is_none()
        && let Some(held) = session.lock.hold()
    {
        defined = define(&held)?;
    }
    Some(defined.unwrap_or_else(|| {
        session.head.count_loss(LossReason::StackTable);
        StackId::UNKNOWN
    }))
}

/// Whether no other thread has called the heap yet. One that is about to may wait for the lock, for as long as a handler
/// runs that interrupts this one while it has it.
fn is_only_thread(session: &Session) -> bool {
    session.head.threads.load(Ordering::Relaxed) == 1
}

/// An address of the instruction that a frame is at; none of one that an interpreter runs.
fn code_of(frame: Frame) -> Option<usize> {
    let address = frame.as_interpreted().is_none().then_some(frame.address() as usize)?;
    Some(address.wrapping_sub(usize::from(!frame.is_exact())))
}

/// Names the modules of frames that are to be defined, so that none is defined before its module. Done
/// here and not when a rule is found, because rules are shared with threads that were about to name a
/// module when a new generation began (a race of two plug-ins lost 61 blocks' names that way).
fn name_modules(path: &impl Path, first: usize, capture: &Capture<'_>) {
    let Capture { thread, session, unwinder, epoch, .. } = *capture;
    let (loader, named): (&Loader, _) = (unwinder.loader, &thread.named_modules);
    let is_named = |code| epoch.is_quiet() && named.contain(code, epoch.number());
    let mut last: Option<ModuleText> = None;
    for index in first..path.len() {
        let Some(code) = code_of(path.node(index).frame) else { continue };
        if last.is_some_and(|text| text.contains(code)) || is_named(code) {
            continue;
        }
        last = loader.find_text(code);
        let Some(text) = &last else { continue };
        if modules::announce(text, loader, session) {
            named.add(text, epoch.number());
        } else {
            check::meet(text, loader);
        }
    }
}
