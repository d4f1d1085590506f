//! From a stack to its number: the hash of its path is looked up, lock-free.
//!
//! ```text
//!   stacks   the paths that calls were made by, to their leaf: asked by each walk
//!   nodes    paths from the outermost frame to any, every other one: asked when a stack is new
//! ```
//! Every other one is enough, the anchors: a bit of a path's hash says whether it is one, so that all stacks agree. A new
//! stack is defined from its innermost anchor that is known; what lies between that and where it parts from another, one
//! frame on average, is defined again, under another number, and readers have it once. With all of them the table of clang
//! was 64 MiB, half of what recording took of memory.
//!
//! They are two tables, because with the nodes in between a line of the cache had one stack in it that is asked for:
//! that look alone took six tenths of the time of a walk in cc1plus. Only where the leaf is new are nodes defined, from
//! the outermost one that is missing inwards, under the lock. Two stacks whose 64-bit hashes are equal would share a
//! number: for a million stacks the chance is 3 in 100 million.

use core::sync::atomic::{AtomicU32, Ordering};

use heapscribe_wire::definitions::{Definition, InterpretedNode, Node};
use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::{CodeAddress, StackId};

use super::path::{Path, PathNode};
use super::path_table::{Known, PathTable, WithRoom};
use super::writer::DefinitionWriter;
use crate::platform::lock::Held;
use crate::unwind::cached::CachedFrame;
use crate::unwind::{Frame, PathHash};

/// Frames of a new stack whose places are fetched ahead: clang has seven new ones in each.
const FETCHED_AHEAD: usize = 12;

/// The numbers of this process's stacks, and of the nodes that they are made of.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    /// Most are there, in 2.5 places on average when it is as full as that.
    stacks: PathTable<6>,
    /// Each new stack looks for its new frames, which are not there: in 8.5 places then, of two lines of the cache. At five
    /// eighths in 4, but a table that doubles earlier is half as large again on average.
    nodes: PathTable<6>,
    /// How often a path was defined or forgotten, or a table replaced.
    changes: AtomicU32,
}

/// What of a path is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownPart {
    /// How many of its frames, from the outermost on; the word that ends the stack counts as one.
    pub len: usize,
    /// The path to the last of them.
    known: Known,
    /// [`Interner::changes`] before it was looked for.
    changes: u32,
}

/// What nodes are written to while they are defined.
struct Target<'a> {
    nodes: WithRoom<'a>,
    definitions: &'a DefinitionWriter,
    held: &'a Held<'a>,
}

impl Target<'_> {
    fn append(&self, definition: &Definition<'_>) -> Option<StackId> {
        self.definitions.append(definition, self.held).ok()
    }

    /// Why paths are cut is found by each of them.
    fn append_cut(&self, seed: PathHash, cut: &Definition<'_>) -> Option<StackId> {
        let id = self.append(cut)?;
        self.nodes.insert(seed, Known { id, modules: 0 });
        Some(id)
    }

    fn insert(&self, hash: PathHash, known: Known) {
        if hash.is_anchor() {
            self.nodes.insert(hash, known);
        }
    }
}

impl Interner {
    /// The number of a stack that is known.
    #[inline(always)]
    pub(crate) fn find(&self, path: PathHash) -> Option<StackId> {
        number(self.stacks.get(path))
    }

    /// Whether a path may have this number, though no call may have been made by it: of one that is no anchor nobody knows.
    pub(crate) fn is_numbered(&self, path: PathHash, id: StackId) -> bool {
        !path.is_anchor() || self.nodes.get(path).id == id
    }

    /// Has the places of the innermost frames fetched into the cache, all at once: mostly these are new, and one after the
    /// other each would be waited for, four fifths of the time that it took to find out.
    pub(crate) fn prefetch(&self, path: &mut impl Path) {
        let innermost = path.len().saturating_sub(FETCHED_AHEAD)..path.len();
        if let Some(run) = path.run(innermost.start) {
            let new = run.iter().rev().take_while(|cached| cached.id == StackId::UNKNOWN);
            return self.prefetch_anchors(new.map(|cached| cached.hash));
        }
        let new = innermost.rev().map(|index| path.node(index));
        self.prefetch_anchors(new.take_while(|node| node.id == StackId::UNKNOWN).map(|node| node.hash));
    }

    fn prefetch_anchors(&self, paths: impl Iterator<Item = PathHash>) {
        self.nodes.prefetch(paths.filter(|path| path.is_anchor()));
    }

    /// What of a path is known. `unloadable` is that of [`Self::define`].
    pub(crate) fn known_part(&self, path: &impl Path, unloadable: impl Fn(Frame) -> u32) -> KnownPart {
        let changes = self.changes.load(Ordering::Acquire);
        for index in (0..path.len()).rev() {
            let PathNode { hash, frame, id } = path.node(index);
            if frame == Frame::default() {
                // The word that ends the stack.
                return KnownPart { len: index + 1, known: Known::default(), changes };
            }
            let known = if id != StackId::UNKNOWN {
                Known { id, modules: self.modules(path, index, &unloadable) }
            } else if hash.is_anchor() {
                self.nodes.get(hash)
            } else {
                continue;
            };
            if known.id != StackId::UNKNOWN {
                return KnownPart { len: index + 1, known, changes };
            }
        }
        KnownPart { len: 0, known: Known::default(), changes }
    }

    /// The modules that may be unloaded on a path that is known as far as frame `index`: those to its innermost anchor, and
    /// those of the frames after it.
    fn modules(&self, path: &impl Path, index: usize, unloadable: impl Fn(Frame) -> u32) -> u32 {
        let mut modules = 0;
        for PathNode { hash, frame, .. } in (0..=index).rev().map(|index| path.node(index)) {
            if frame == Frame::default() {
                break;
            }
            if hash.is_anchor() {
                return modules | self.nodes.get(hash).modules;
            }
            modules |= unloadable(frame);
        }
        modules
    }

    /// The number of a stack, found by its path or by its alias from then on, defining what of it is new: what is not in
    /// `known`, when nothing has changed since. `unloadable` gives the bit of a frame's module if that may be unloaded.
    /// `None` when there is no room or memory for it.
    #[inline(never)] // so that its frame is not on the stack while modules are named
    pub(crate) fn define(
        &self,
        path: &mut impl Path,
        known: KnownPart,
        definitions: &DefinitionWriter,
        unloadable: impl Fn(Frame) -> u32,
        held: &Held<'_>,
    ) -> Option<StackId> {
        let has_changed = self.changes.load(Ordering::Relaxed) != known.changes;
        let KnownPart { len, known, .. } =
            if has_changed { self.known_part(path, &unloadable) } else { known };
        let stacks = self.stacks.with_room(1, held)?;
        let nodes = self.nodes.with_room(path.len() - len + 1, held)?;
        let target = Target { nodes, definitions, held };
        let defined = self.define_nodes(path, (len, known), &target, unloadable);
        if let Some(leaf) = defined {
            if len == path.len() {
                path.set_id(len.wrapping_sub(1), leaf.id);
            }
            stacks.insert(path.alias().unwrap_or_else(|| hash_of(path)), leaf);
        }
        self.count_change(); // also when only some of it had room
        defined.map(|leaf| leaf.id)
    }

    /// Defines the nodes from `len` on, the one before which is `known`: the leaf's.
    fn define_nodes(
        &self,
        path: &mut impl Path,
        (len, mut known): (usize, Known),
        target: &Target<'_>,
        unloadable: impl Fn(Frame) -> u32,
    ) -> Option<Known> {
        if let (StackId::UNKNOWN, Some(reason)) = (known.id, path.cut()) {
            let cut = Definition::Cut { reason: reason as u8, parent: StackId::UNKNOWN };
            known.id = match number(self.nodes.get(path.seed())) {
                Some(id) => id,
                None => target.append_cut(path.seed(), &cut)?,
            };
        }
        let run = path.run(len).filter(|run| !run.is_empty());
        if let Some(leaf) = run.and_then(|run| define_run(run, known, target, &unloadable)) {
            return Some(leaf);
        }
        for index in len..path.len() {
            let PathNode { hash, frame, .. } = path.node(index);
            known.modules |= unloadable(frame);
            known.id = target.append(&definition_of(frame, known.id))?;
            target.insert(hash, known);
            path.set_id(index, known.id);
        }
        Some(known)
    }

    /// Under the lock, after the change: who sees the count sees what was changed.
    fn count_change(&self) {
        self.changes.store(self.changes.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// Forgets the numbers of all paths through any of these modules, which were unloaded: another may be in their
    /// place. All paths, when `modules` is none.
    pub(crate) fn forget(&self, modules: u32, held: &Held<'_>) {
        self.stacks.forget(modules, held);
        self.nodes.forget(modules, held);
        self.count_change();
    }
}

fn number(known: Known) -> Option<StackId> {
    (known.id != StackId::UNKNOWN).then_some(known.id)
}

/// The hash of a whole path.
fn hash_of(path: &impl Path) -> PathHash {
    path.len().checked_sub(1).map_or_else(|| path.seed(), |leaf| path.node(leaf).hash)
}

/// Defines frames that all are new, with one commit: `caller` has called the first of them. `None`, and nothing defined,
/// where there is no room for that.
fn define_run(
    run: &mut [CachedFrame],
    caller: Known,
    target: &Target<'_>,
    unloadable: &impl Fn(Frame) -> u32,
) -> Option<Known> {
    let Target { definitions, held, .. } = *target;
    let frames = run.iter().map(|cached| node_of(cached.frame, caller.id));
    let mut next = definitions.append_run(caller.id, frames, held)?;
    let mut leaf = caller;
    // After the commit: who finds a number may write it into an event at once.
    for cached in &mut *run {
        leaf = Known { id: next, modules: leaf.modules | unloadable(cached.frame) };
        cached.id = next;
        target.insert(cached.hash, leaf);
        next.0 += 1;
    }
    Some(leaf)
}

fn definition_of(frame: Frame, parent: StackId) -> Definition<'static> {
    match (frame, frame.as_interpreted()) {
        (Frame::GAP, _) => Definition::Cut { reason: LossReason::StackDepth as u8, parent },
        (_, Some((function, line))) => Definition::Interpreted(InterpretedNode { parent, function, line }),
        _ => Definition::Node(node_of(frame, parent)),
    }
}

fn node_of(frame: Frame, parent: StackId) -> Node {
    let pc = CodeAddress(frame.address());
    Node { parent, pc, guesses: frame.guesses(), exact: frame.is_exact() }
}

#[cfg(test)]
mod tests;
