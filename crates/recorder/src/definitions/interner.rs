//! From a stack to its number: the hash of its path is looked up in one table, lock-free.
//!
//! ```text
//!   entry    hash of the path, 0: no entry    bits 0..32   number of the node in defs, 0: forgotten
//!                                             bits 32..64  modules on the path that may be unloaded, some to a bit
//!   place    low bits of the hash, then the entries after it
//! ```
//! An entry's number is stored before its hash. A table that has grown too full is replaced by one twice
//! as large, and the memory of the old one is discarded at once: whoever still reads it finds it empty, and
//! looks into the new one under the lock. Only where the leaf is new are nodes defined, from the outermost one
//! that is missing inwards, under the lock. Two stacks whose 64-bit hashes are equal would share a number:
//! for a million stacks the chance is 3 in 100 million.
#![allow(unsafe_code)]

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use heapscribe_wire::definitions::{Definition, InterpretedNode, Node};
use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::{CodeAddress, StackId};

use super::path::{Path, PathNode};
use super::writer::DefinitionWriter;
use crate::platform::lock::Held;
use crate::platform::memory;
use crate::unwind::cached::CachedFrame;
use crate::unwind::{Frame, PathHash};

const FIRST_CAPACITY: usize = 4096;

/// A table: this, then `capacity` entries.
#[repr(C, align(64))]
#[derive(Debug)]
struct Table {
    capacity: usize,
}

type Entry = [AtomicU64; 2];

impl Table {
    const fn bytes(capacity: usize) -> usize {
        size_of::<Table>() + capacity * size_of::<Entry>()
    }

    #[inline(always)]
    fn entry(&self, index: usize) -> &Entry {
        // SAFETY: a table is allocated with `capacity` entries behind it; the index is masked.
        unsafe { &*ptr::from_ref(self).add(1).cast::<Entry>().add(index & (self.capacity - 1)) }
    }

    /// What a path's entry holds; 0 when it has none, or the table's memory was discarded this instant.
    #[inline(always)]
    fn value(&self, hash: u64) -> u64 {
        let mut index = hash as usize;
        for _ in 0..self.capacity {
            let [found, value] = self.entry(index);
            match found.load(Ordering::Acquire) {
                0 => return 0,
                h if h == hash => return value.load(Ordering::Relaxed),
                _ => index = index.wrapping_add(1),
            }
        }
        0
    }

    /// Under the lock. Whether it took a place; one that was forgotten is its own still.
    fn insert(&self, hash: u64, value: u64) -> bool {
        let mut index = hash as usize;
        for _ in 0..self.capacity {
            let [found, place] = self.entry(index);
            let there = found.load(Ordering::Relaxed);
            if there == 0 || there == hash {
                place.store(value, Ordering::Relaxed);
                // Also when it was there: who sees the value is to see what was defined before it.
                found.store(hash, Ordering::Release);
                return there == 0;
            }
            index = index.wrapping_add(1);
        }
        false
    }

    /// Discards the pages of a table that nobody looks into any more, but for the first, whose capacity
    /// readers may still use.
    fn discard(&self) {
        let begin = ptr::from_ref(self) as usize;
        // SAFETY: the table's own entries, which are atomic integers that may turn to zero at any time.
        unsafe { memory::discard(begin + size_of::<Table>(), begin + Table::bytes(self.capacity)) };
    }
}

/// The nodes of this process, by the hash of their path.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    table: AtomicPtr<Table>,
    entries: AtomicUsize,
    /// How often a path was defined or forgotten, or the table replaced.
    changes: AtomicU32,
}

/// What of a path is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownPart {
    /// How many of its frames, from the outermost on; the word that ends the stack counts as one.
    pub len: usize,
    /// The number of the path to the last of them.
    id: StackId,
    /// The modules on it that may be unloaded.
    modules: u32,
    /// [`Interner::changes`] before it was looked for.
    changes: u32,
}

impl Interner {
    #[inline(always)]
    fn table(&self) -> Option<&Table> {
        // SAFETY: a published table stays for the life of the process; its entries may turn to zero.
        unsafe { self.table.load(Ordering::Acquire).as_ref() }
    }

    #[inline(always)]
    fn value(&self, path: PathHash) -> u64 {
        self.table().map_or(0, |table| table.value(path.key()))
    }

    /// The number of a path that is known.
    #[inline(always)]
    pub(crate) fn find(&self, path: PathHash) -> Option<StackId> {
        let id = StackId(self.value(path) as u32);
        (id != StackId::UNKNOWN).then_some(id)
    }

    /// What of a path is known.
    pub(crate) fn known_part(&self, path: &impl Path) -> KnownPart {
        let changes = self.changes.load(Ordering::Acquire);
        for index in (0..path.len()).rev() {
            let PathNode { hash, frame, id } = path.node(index);
            if frame == Frame::default() {
                // The word that ends the stack.
                return KnownPart { len: index + 1, id: StackId::UNKNOWN, modules: 0, changes };
            }
            let value = self.value(hash);
            let id = if id == StackId::UNKNOWN { StackId(value as u32) } else { id };
            if id != StackId::UNKNOWN {
                return KnownPart { len: index + 1, id, modules: (value >> 32) as u32, changes };
            }
        }
        KnownPart { len: 0, id: StackId::UNKNOWN, modules: 0, changes }
    }

    /// The number of a path, found by its alias as well from then on, defining what of it is new: what is not in `known`,
    /// when nothing has changed since. `unloadable` gives the bit of a frame's module if that may be unloaded. `None` when
    /// there is no room or memory for it.
    pub(crate) fn define(
        &self,
        path: &mut impl Path,
        known: KnownPart,
        definitions: &DefinitionWriter,
        unloadable: impl Fn(Frame) -> u32,
        held: &Held<'_>,
    ) -> Option<StackId> {
        let has_changed = self.changes.load(Ordering::Relaxed) != known.changes;
        let KnownPart { len, id: mut parent, mut modules, .. } =
            if has_changed { self.known_part(path) } else { known };
        let table = self.with_room(path.len() - len + 2, held)?;
        let append = |hash: PathHash, modules: u32, definition: &Definition<'_>| {
            let id = definitions.append(definition, held).ok()?;
            self.insert(table, hash, modules, id);
            Some(id)
        };
        let mut define = || {
            if let (StackId::UNKNOWN, Some(reason)) = (parent, path.cut()) {
                let cut = Definition::Cut { reason: reason as u8, parent: StackId::UNKNOWN };
                parent = match self.find(path.seed()) {
                    Some(id) => id,
                    None => append(path.seed(), 0, &cut)?,
                };
            }
            let (run, room) = (path.run(len).filter(|run| !run.is_empty()), (table, definitions));
            if let Some(id) =
                run.and_then(|run| self.define_run(run, (parent, modules), room, &unloadable, held))
            {
                return Some(id);
            }
            for index in len..path.len() {
                let PathNode { hash, frame, .. } = path.node(index);
                modules |= unloadable(frame);
                parent = append(hash, modules, &definition_of(frame, parent))?;
                path.set_id(index, parent);
            }
            if let Some(alias) = path.alias() {
                self.insert(table, alias, modules, parent);
            }
            Some(parent)
        };
        let defined = define();
        self.count_change(); // also when only some of it had room
        defined
    }

    /// Defines frames that all are new, with one commit: `parent` has called the first of them, through these modules that
    /// may be unloaded. `None`, and nothing defined, where there is no room for that.
    fn define_run(
        &self,
        run: &mut [CachedFrame],
        (parent, mut modules): (StackId, u32),
        (table, definitions): (&Table, &DefinitionWriter),
        unloadable: &impl Fn(Frame) -> u32,
        held: &Held<'_>,
    ) -> Option<StackId> {
        let nodes = run.iter().map(|cached| node_of(cached.frame, parent));
        let mut next = definitions.append_run(parent, nodes, held)?;
        // After the commit: who finds a number may write it into an event at once.
        for cached in &mut *run {
            modules |= unloadable(cached.frame);
            cached.id = next;
            self.insert(table, cached.hash, modules, next);
            next.0 += 1;
        }
        run.last().map(|cached| cached.id)
    }

    /// Under the lock, after the change: who sees the count sees what was changed.
    fn count_change(&self) {
        self.changes.store(self.changes.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// Another hash for a path that has a number: of what the path was put together from.
    pub(crate) fn alias(&self, alias: PathHash, path: PathHash, id: StackId, held: &Held<'_>) {
        let Some(table) = self.with_room(1, held) else { return };
        self.insert(table, alias, (table.value(path.key()) >> 32) as u32, id);
        self.count_change();
    }

    /// Under the lock, in a table that has room.
    fn insert(&self, table: &Table, hash: PathHash, modules: u32, id: StackId) {
        let is_new = table.insert(hash.key(), u64::from(modules) << 32 | u64::from(id.0));
        self.entries.store(self.entries.load(Ordering::Relaxed) + usize::from(is_new), Ordering::Relaxed);
    }

    /// Forgets the numbers of all paths through any of these modules, which were unloaded: another may be in their
    /// place. All paths, when `modules` is none.
    pub(crate) fn forget(&self, modules: u32, _held: &Held<'_>) {
        let Some(table) = self.table() else { return };
        for index in 0..table.capacity {
            let [_, value] = table.entry(index);
            let through = (value.load(Ordering::Relaxed) >> 32) as u32;
            if modules == 0 || through & modules != 0 {
                value.store(0, Ordering::Relaxed);
            }
        }
        self.count_change();
    }

    /// The table, replaced by a larger one when with so many more it is more than five eighths full: at three quarters one
    /// that is not there is looked for in 8.5 places on average, and each new stack does so for each of its new frames.
    fn with_room(&self, more: usize, held: &Held<'_>) -> Option<&Table> {
        let table = self.table();
        let wanted = (self.entries.load(Ordering::Relaxed) + more) * 8;
        let capacity = table.map_or(FIRST_CAPACITY, |table| table.capacity);
        let enough = |capacity: &usize| wanted <= capacity * 5;
        match table {
            Some(table) if enough(&capacity) => Some(table),
            _ => {
                let larger = core::iter::successors(Some(capacity), |capacity| capacity.checked_mul(2));
                self.grow(table, larger.into_iter().find(enough)?, held)
            }
        }
    }

    fn grow(&self, old: Option<&Table>, capacity: usize, held: &Held<'_>) -> Option<&Table> {
        let place = memory::alloc(Table::bytes(capacity), held)?.cast::<Table>();
        // SAFETY: zeroed bytes of that many, which are an empty table but for its capacity.
        let table = unsafe {
            (*place.as_ptr()).capacity = capacity;
            place.as_ref()
        };
        let mut entries = 0;
        for index in 0..old.map_or(0, |old| old.capacity) {
            let [hash, value] = old?.entry(index);
            let (hash, value) = (hash.load(Ordering::Relaxed), value.load(Ordering::Relaxed));
            if hash != 0 && value != 0 {
                entries += usize::from(table.insert(hash, value));
            }
        }
        self.entries.store(entries, Ordering::Relaxed);
        self.table.store(place.as_ptr(), Ordering::Release);
        if let Some(old) = old {
            old.discard();
        }
        self.count_change(); // who has looked into the old one may have found it empty
        Some(table)
    }
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
