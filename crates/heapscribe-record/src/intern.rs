//! From a stack to its number: a stack is the path from its outermost frame to its leaf, its hash is
//! rolled along that path, and the leaf's hash is all that is looked up.
//!
//! ```text
//!   hash(outermost caller's caller) = seed of the generation (or of the cut)
//!   hash(frame) = roll(hash(its caller), pc)
//!   table[key(hash(leaf))] -> number of the leaf's node in defs
//! ```
//!
//! Readers take no lock: an entry's number is stored before its hash, and a table that has grown too full
//! is replaced by one twice as large, the old one staying where it is (all old ones together are smaller
//! than the new). Only where the leaf is new is the path walked from the outside, under the lock, and the
//! missing nodes are defined. Two stacks whose 64-bit hashes are equal would share a number: for a
//! million stacks the chance is 3 in 100 million.
#![allow(unsafe_code)]

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use heapscribe_wire::defs::{Definition, Node};
use heapscribe_wire::head::{Drop, SharedHead};
use heapscribe_wire::ids::{CodeAddress, StackId};

use crate::capture::Frame;
use crate::define::Definer;
use crate::lock::Held;
use crate::memory;

const FIRST_CAPACITY: usize = 2048;

/// A table: this, then `capacity` entries of (hash, number).
#[repr(C)]
#[derive(Debug)]
struct Table {
    capacity: usize,
    reserved: [usize; 7],
}

type Entry = [AtomicU64; 2];

impl Table {
    #[inline(always)]
    fn entry(&self, index: usize) -> &Entry {
        // SAFETY: a table is allocated with `capacity` entries behind it; the index is masked.
        unsafe { &*ptr::from_ref(self).add(1).cast::<Entry>().add(index & (self.capacity - 1)) }
    }

    #[inline(always)]
    fn find(&self, hash: u64) -> Option<StackId> {
        for i in 0..self.capacity {
            let entry = self.entry((hash as usize).wrapping_add(i));
            match entry[0].load(Ordering::Acquire) {
                0 => return None,
                h if h == hash => return Some(StackId(entry[1].load(Ordering::Relaxed) as u32)),
                _ => {}
            }
        }
        None
    }

    fn insert(&self, hash: u64, id: StackId) {
        for i in 0..self.capacity {
            let entry = self.entry((hash as usize).wrapping_add(i));
            if entry[0].load(Ordering::Relaxed) == 0 {
                entry[1].store(u64::from(id.0), Ordering::Relaxed);
                entry[0].store(hash, Ordering::Release);
                return;
            }
        }
    }
}

/// The nodes of this process, by hash.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    table: AtomicPtr<Table>,
    entries: AtomicUsize,
}

/// A captured stack: return addresses from the leaf outwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames<'a> {
    /// The frames.
    pub pcs: &'a [Frame],
    /// From this index on they were reached by a guess.
    pub guessed_from: usize,
    /// Why it ends before the outermost frame, if it does.
    pub cut: Option<Drop>,
}

/// One frame further in. Five cycles: a walk waits for as many of these as it has frames.
#[inline(always)]
fn roll(hash: u64, pc: u64) -> u64 {
    (hash.rotate_left(5) ^ pc).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What a path's hash is kept under: its high bits decide too where in the table, and 0 says "no entry".
#[inline(always)]
fn key(hash: u64) -> u64 {
    let h = hash ^ hash >> 32;
    h | u64::from(h == 0)
}

impl Frames<'_> {
    #[inline(always)]
    fn seed(&self, generation: u32) -> u64 {
        let cut = self.cut.map_or(0, |reason| reason as u64 + 1);
        roll(u64::from(generation) << 8 | cut, 0x5ca1_ab1e)
    }

    #[inline(always)]
    fn leaf_hash(&self, generation: u32) -> u64 {
        self.pcs.iter().rev().fold(self.seed(generation), |hash, frame| roll(hash, frame.to_bits()))
    }
}

impl Interner {
    /// The number of a stack that is known.
    #[inline(always)]
    pub(crate) fn find(&self, frames: &Frames<'_>, generation: u32) -> Option<StackId> {
        if frames.pcs.is_empty() {
            return Some(StackId::UNKNOWN);
        }
        // SAFETY: a published table stays for the life of the process.
        let table = unsafe { self.table.load(Ordering::Acquire).as_ref() }?;
        table.find(key(frames.leaf_hash(generation)))
    }

    /// The number of a stack, defining what of it is new. `None` when there is no room or memory for it.
    pub(crate) fn define(
        &self,
        frames: &Frames<'_>,
        generation: u32,
        definer: &Definer,
        head: &SharedHead,
        held: &Held<'_>,
    ) -> Option<StackId> {
        let mut hash = frames.seed(generation);
        let mut parent = StackId::UNKNOWN;
        if let Some(reason) = frames.cut {
            let cut = Definition::Cut { reason: reason as u8 };
            parent = self.find_or_append(hash, &cut, definer, head, held)?;
        }
        for (i, frame) in frames.pcs.iter().enumerate().rev() {
            hash = roll(hash, frame.to_bits());
            let pc = CodeAddress(frame.address());
            let node = Node { parent, pc, guessed: i >= frames.guessed_from, exact: frame.is_exact() };
            parent = self.find_or_append(hash, &Definition::Node(node), definer, head, held)?;
        }
        Some(parent)
    }

    fn find_or_append(
        &self,
        hash: u64,
        definition: &Definition<'_>,
        definer: &Definer,
        head: &SharedHead,
        held: &Held<'_>,
    ) -> Option<StackId> {
        let table = self.with_room(held)?;
        let hash = key(hash);
        if let Some(id) = table.find(hash) {
            return Some(id);
        }
        let id = definer.append(definition, head, held).ok()?;
        table.insert(hash, id);
        self.entries.fetch_add(1, Ordering::Relaxed);
        Some(id)
    }

    /// The table, replaced by a larger one when it is more than half full.
    fn with_room(&self, held: &Held<'_>) -> Option<&Table> {
        // SAFETY: a published table stays for the life of the process.
        let table = unsafe { self.table.load(Ordering::Acquire).as_ref() };
        match table {
            Some(table) if self.entries.load(Ordering::Relaxed) * 2 < table.capacity => Some(table),
            Some(table) => self.grow(Some(table), table.capacity * 2, held),
            None => self.grow(None, FIRST_CAPACITY, held),
        }
    }

    fn grow(&self, old: Option<&Table>, capacity: usize, _held: &Held<'_>) -> Option<&Table> {
        let bytes = size_of::<Table>() + capacity * size_of::<Entry>();
        // SAFETY: the lock is held.
        let place = unsafe { memory::alloc(bytes) }?.cast::<Table>();
        // SAFETY: `bytes` zeroed bytes, which are an empty table but for its capacity.
        let table = unsafe {
            (*place.as_ptr()).capacity = capacity;
            place.as_ref()
        };
        for i in 0..old.map_or(0, |t| t.capacity) {
            let entry = old?.entry(i);
            let hash = entry[0].load(Ordering::Relaxed);
            if hash != 0 {
                table.insert(hash, StackId(entry[1].load(Ordering::Relaxed) as u32));
            }
        }
        self.table.store(place.as_ptr(), Ordering::Release);
        Some(table)
    }
}
