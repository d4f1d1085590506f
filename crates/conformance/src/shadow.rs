//! A heap with a second book: every block is noted with what it was asked for and what was written into it,
//! and held against that whenever it is touched. It judges any heap without knowing how one works.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ptr::NonNull;

use heapscribe_alloc::{Heap, Owns, Request};

/// What a block should be.
#[derive(Clone, Copy, Debug)]
struct Note {
    request: Request,
    /// The whole block, which is no other's.
    usable: usize,
    /// What it is filled with.
    seed: u8,
}

/// A heap and the book.
pub struct ShadowHeap<'a> {
    heap: &'a dyn Heap,
    notes: BTreeMap<usize, Note>,
    next_seed: u8,
}

/// The byte at a place of a block, other ones for other blocks and at other distances: a block that was
/// moved by a few bytes, as heaphook's realloc did, shows.
fn byte(seed: u8, at: usize) -> u8 {
    seed ^ (at as u8) ^ ((at >> 8) as u8).wrapping_mul(31)
}

impl<'a> ShadowHeap<'a> {
    /// With an empty book.
    pub fn new(heap: &'a dyn Heap) -> ShadowHeap<'a> {
        ShadowHeap { heap, notes: BTreeMap::new(), next_seed: 1 }
    }

    /// Blocks in the book, by address.
    pub fn blocks(&self) -> impl Iterator<Item = usize> + '_ {
        self.notes.keys().copied()
    }

    /// Bytes asked for of the blocks in the book.
    pub fn live_bytes(&self) -> usize {
        self.notes.values().map(|note| note.request.size_bytes()).sum()
    }

    /// Asks for a block; `Ok(None)` when there is no memory. Whatever is wrong with it is the error.
    pub fn alloc(&mut self, request: Request) -> Result<Option<usize>, String> {
        let block = self.heap.alloc(request);
        block.map(|block| self.enter(block, request)).transpose()
    }

    /// The same, of zeros.
    pub fn alloc_zeroed(&mut self, request: Request) -> Result<Option<usize>, String> {
        let Some(block) = self.heap.alloc_zeroed(request) else { return Ok(None) };
        for i in 0..request.size_bytes() {
            // SAFETY: within the size asked for.
            let found = unsafe { block.add(i).read() };
            if found != 0 {
                return Err(format!("{request:?}: byte {i} of a zeroed block is {found}"));
            }
        }
        self.enter(block, request).map(Some)
    }

    /// Frees a block that is in the book, after a look at what it holds.
    pub fn free(&mut self, address: usize) -> Result<(), String> {
        let note = self.notes.remove(&address).ok_or("not in the book")?;
        let block = self.judge(address, note, note.request.size_bytes())?;
        // SAFETY: the heap's block, that nobody else knows.
        unsafe { self.heap.free(block) };
        Ok(())
    }

    /// Resizes a block that is in the book. `Ok(None)` when there is no memory, and the block is as it was.
    pub fn realloc(&mut self, address: usize, request: Request) -> Result<Option<usize>, String> {
        let note = self.notes.remove(&address).ok_or("not in the book")?;
        let block = self.judge(address, note, note.request.size_bytes())?;
        // SAFETY: the heap's block, that nobody else knows.
        let Some(new) = (unsafe { self.heap.realloc(block, request) }) else {
            self.judge(address, note, note.request.size_bytes())
                .map_err(|e| format!("realloc failed, and {e}"))?;
            self.notes.insert(address, note);
            return Ok(None);
        };
        let kept = note.request.size_bytes().min(request.size_bytes());
        let moved = Note { request, ..note };
        self.judge(new.as_ptr() as usize, moved, kept).map_err(|e| format!("after realloc: {e}"))?;
        self.enter(new, request).map(Some)
    }

    /// Looks at every block.
    pub fn judge_all(&self) -> Result<(), String> {
        self.notes
            .iter()
            .try_for_each(|(&at, &note)| self.judge(at, note, note.request.size_bytes()).map(drop))
    }

    /// Frees every block.
    pub fn clear(&mut self) -> Result<(), String> {
        let all: Vec<usize> = self.blocks().collect();
        all.into_iter().try_for_each(|address| self.free(address))
    }

    /// Whether a block is where and as it should be, and its first `len` bytes hold what was written.
    fn judge(&self, address: usize, note: Note, len: usize) -> Result<NonNull<u8>, String> {
        let block = NonNull::new(address as *mut u8).ok_or("a block at 0")?;
        for i in 0..len {
            // SAFETY: within the block.
            let found = unsafe { block.add(i).read() };
            if found != byte(note.seed, i) {
                return Err(format!("{:?} at {address:#x}: byte {i} of {len} is {found:#04x}", note.request));
            }
        }
        Ok(block)
    }

    /// Writes a new block into the book and fills it.
    fn enter(&mut self, block: NonNull<u8>, request: Request) -> Result<usize, String> {
        let address = block.as_ptr() as usize;
        if !request.is_aligned(address) {
            return Err(format!("{request:?}: at {address:#x}"));
        }
        // SAFETY: the heap's block.
        let usable = unsafe { self.heap.usable_size(block) };
        if usable < request.size_bytes() {
            return Err(format!("{request:?}: {usable} bytes are usable"));
        }
        if self.heap.owns(block.as_ptr()) == Owns::No {
            return Err(format!("{request:?}: not the heap's own, it says"));
        }
        let before = self.notes.range(..=address).next_back();
        let behind = self.notes.range(address..).next();
        let runs_in = before.is_some_and(|(at, note)| at + note.usable > address);
        if runs_in || behind.is_some_and(|(at, _)| address + usable > *at) {
            return Err(format!("{request:?} at {address:#x}: shares bytes with {before:x?} or {behind:x?}"));
        }
        self.next_seed = self.next_seed.wrapping_mul(5).wrapping_add(1);
        let note = Note { request, usable, seed: self.next_seed };
        for i in 0..usable {
            // SAFETY: within the usable size.
            unsafe { block.add(i).write(byte(note.seed, i)) };
        }
        self.notes.insert(address, note);
        Ok(address)
    }
}
