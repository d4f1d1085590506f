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
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use heapscribe_wire::definitions::{Definition, Node};
use heapscribe_wire::head::LossReason;
use heapscribe_wire::ids::{CodeAddress, StackId};

use super::path::{Path, PathNode};
use super::writer::DefinitionWriter;
use crate::platform::lock::Held;
use crate::platform::memory;
use crate::unwind::{Frame, PathHash};
use heapscribe_nolibc::sys;

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

    #[inline(always)]
    fn find(&self, hash: u64) -> Option<StackId> {
        for i in 0..self.capacity {
            let [found, id] = self.entry((hash as usize).wrapping_add(i));
            match found.load(Ordering::Acquire) {
                0 => return None,
                h if h == hash => {
                    // 0 when the table's memory was discarded this instant.
                    let id = StackId(id.load(Ordering::Relaxed) as u32);
                    return (id != StackId::UNKNOWN).then_some(id);
                }
                _ => {}
            }
        }
        None
    }

    /// Under the lock. Whether it took a place; one that was forgotten is its own still.
    fn insert(&self, hash: u64, value: u64) -> bool {
        let mut entries = (0..self.capacity).map(|i| self.entry((hash as usize).wrapping_add(i)));
        let is_for = |entry: &&Entry| [0, hash].contains(&entry[0].load(Ordering::Relaxed));
        let Some([found, place]) = entries.find(is_for) else { return false };
        place.store(value, Ordering::Relaxed);
        found.swap(hash, Ordering::Release) == 0
    }

    /// The modules on a path that may be unloaded. Under the lock.
    fn unloadable(&self, hash: u64) -> u32 {
        let entries = (0..self.capacity).map(|i| self.entry((hash as usize).wrapping_add(i)));
        let mut entries = entries.take_while(|entry| entry[0].load(Ordering::Relaxed) != 0);
        let found = entries.find(|entry| entry[0].load(Ordering::Relaxed) == hash);
        found.map_or(0, |[_, value]| (value.load(Ordering::Relaxed) >> 32) as u32)
    }

    /// Discards the pages of a table that nobody looks into any more, but for the first, whose capacity
    /// readers may still use.
    fn discard(&self) {
        const PAGE_BYTES: usize = 4096;
        let begin = (ptr::from_ref(self) as usize + size_of::<Table>()).next_multiple_of(PAGE_BYTES);
        let end = (ptr::from_ref(self) as usize + Table::bytes(self.capacity)) & !(PAGE_BYTES - 1);
        if begin < end {
            // SAFETY: whole pages of the table's own entries, which are atomic integers that may turn to
            // zero at any time. Locked pages cannot be discarded, and stay.
            let _ = unsafe { sys::advise(begin as *mut u8, end - begin, sys::Advice::DontNeed) };
        }
    }
}

/// The nodes of this process, by the hash of their path.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    table: AtomicPtr<Table>,
    entries: AtomicUsize,
}

impl Interner {
    #[inline(always)]
    fn table(&self) -> Option<&Table> {
        // SAFETY: a published table stays for the life of the process; its entries may turn to zero.
        unsafe { self.table.load(Ordering::Acquire).as_ref() }
    }

    /// The number of a path that is known.
    #[inline(always)]
    pub(crate) fn find(&self, path: PathHash) -> Option<StackId> {
        self.table()?.find(path.key())
    }

    /// Index of the first frame whose path has no number, and the number before it.
    pub(crate) fn first_new(&self, path: &impl Path) -> (usize, StackId) {
        for index in (0..path.len()).rev() {
            let PathNode { hash, frame, id } = path.node(index);
            if frame == Frame::default() {
                return (index + 1, StackId::UNKNOWN); // the word that ends the stack
            }
            let id = if id == StackId::UNKNOWN { self.find(hash) } else { Some(id) };
            if let Some(id) = id {
                return (index + 1, id);
            }
        }
        (0, StackId::UNKNOWN)
    }

    /// The number of a path, defining what of it is new. `unloadable` gives the bit of a frame's module if that may be
    /// unloaded. `None` when there is no room or memory for it.
    pub(crate) fn define(
        &self,
        path: &mut impl Path,
        definitions: &DefinitionWriter,
        unloadable: impl Fn(Frame) -> u32,
        held: &Held<'_>,
    ) -> Option<StackId> {
        let (first, mut parent) = self.first_new(path);
        let known = first.checked_sub(1).map(|known| path.node(known).hash.key());
        let mut modules = known.zip(self.table()).map_or(0, |(hash, table)| table.unloadable(hash));
        if let (StackId::UNKNOWN, Some(reason)) = (parent, path.cut()) {
            let cut = Definition::Cut { reason: reason as u8, parent: StackId::UNKNOWN };
            parent = match self.find(path.seed()) {
                Some(id) => id,
                None => self.append(path.seed(), 0, &cut, definitions, held)?,
            };
        }
        for index in first..path.len() {
            let PathNode { hash, frame, .. } = path.node(index);
            let pc = CodeAddress(frame.address());
            let definition = match frame {
                Frame::GAP => Definition::Cut { reason: LossReason::StackDepth as u8, parent },
                _ => Definition::Node(Node { parent, pc, guesses: frame.guesses(), exact: frame.is_exact() }),
            };
            modules |= unloadable(frame);
            parent = self.append(hash, modules, &definition, definitions, held)?;
            path.set_id(index, parent);
        }
        Some(parent)
    }

    fn append(
        &self,
        hash: PathHash,
        modules: u32,
        definition: &Definition<'_>,
        definitions: &DefinitionWriter,
        held: &Held<'_>,
    ) -> Option<StackId> {
        let table = self.with_room(held)?;
        let id = definitions.append(definition, held).ok()?;
        let is_new = table.insert(hash.key(), u64::from(modules) << 32 | u64::from(id.0));
        self.entries.fetch_add(usize::from(is_new), Ordering::Relaxed);
        Some(id)
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
    }

    /// The table, replaced by a larger one when it is more than three quarters full.
    fn with_room(&self, held: &Held<'_>) -> Option<&Table> {
        match self.table() {
            Some(table) if self.entries.load(Ordering::Relaxed) * 4 < table.capacity * 3 => Some(table),
            Some(table) => self.grow(Some(table), table.capacity * 2, held),
            None => self.grow(None, FIRST_CAPACITY, held),
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
        for i in 0..old.map_or(0, |t| t.capacity) {
            let [hash, value] = old?.entry(i).each_ref().map(|word| word.load(Ordering::Relaxed));
            if hash != 0 && value != 0 {
                entries += usize::from(table.insert(hash, value));
            }
        }
        self.entries.store(entries, Ordering::Relaxed);
        self.table.store(place.as_ptr(), Ordering::Release);
        if let Some(old) = old {
            old.discard();
        }
        Some(table)
    }
}

#[cfg(test)]
mod tests;
