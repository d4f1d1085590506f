//! A shadow heap: every block is recorded with what was asked for and what was written into it, and compared with
//! that whenever it is used. It verifies any heap without knowing how one works.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::ptr::NonNull;

use heapscribe_alloc::{Heap, Owns, Request};

/// What a block should be.
#[derive(Clone, Copy, Debug)]
struct Expected {
    request: Request,
    /// The whole block, which is no other's.
    usable: usize,
    /// What it is filled with.
    seed: u8,
}

/// A heap, and what its blocks should be.
pub struct ShadowHeap<'a> {
    heap: &'a dyn Heap,
    live: BTreeMap<usize, Expected>,
    next_seed: u8,
}

/// The byte at a place of a block, other ones for other blocks and at other distances: a block that was
/// moved by a few bytes, as heaphook's realloc did, shows.
fn byte(seed: u8, at: usize) -> u8 {
    seed ^ (at as u8) ^ ((at >> 8) as u8).wrapping_mul(31)
}

impl<'a> ShadowHeap<'a> {
    /// Without blocks.
    pub fn new(heap: &'a dyn Heap) -> ShadowHeap<'a> {
        ShadowHeap { heap, live: BTreeMap::new(), next_seed: 1 }
    }

    /// Live blocks, by address.
    pub fn blocks(&self) -> impl Iterator<Item = usize> + '_ {
        self.live.keys().copied()
    }

    /// Bytes asked for of the live blocks.
    pub fn live_bytes(&self) -> usize {
        self.live.values().map(|expected| expected.request.size_bytes()).sum()
    }

    /// Allocates a block; `Ok(None)` when there is no memory. Whatever is wrong with it is the error.
    pub fn alloc(&mut self, request: Request) -> Result<Option<usize>, String> {
        let block = self.heap.alloc(request);
        block.map(|block| self.record_alloc(block, request)).transpose()
    }

    /// The same, of zeros.
    pub fn alloc_zeroed(&mut self, request: Request) -> Result<Option<usize>, String> {
        let Some(block) = self.heap.alloc_zeroed(request) else { return Ok(None) };
        for i in 0..request.size_bytes() {
            // SAFETY: within the size asked for.
            let byte_read = unsafe { block.add(i).read() };
            if byte_read != 0 {
                return Err(format!("{request:?}: byte {i} of a zeroed block is {byte_read}"));
            }
        }
        self.record_alloc(block, request).map(Some)
    }

    /// Frees a live block, after its contents were verified.
    pub fn free(&mut self, address: usize) -> Result<(), String> {
        let expected = self.live.remove(&address).ok_or("not a live block")?;
        let block = self.verify(address, expected, expected.request.size_bytes())?;
        // SAFETY: the heap's block, that nobody else knows.
        unsafe { self.heap.free(block) };
        Ok(())
    }

    /// Resizes a live block. `Ok(None)` when there is no memory, and the block is as it was.
    pub fn realloc(&mut self, address: usize, request: Request) -> Result<Option<usize>, String> {
        let expected = self.live.remove(&address).ok_or("not a live block")?;
        let block = self.verify(address, expected, expected.request.size_bytes())?;
        // SAFETY: the heap's block, that nobody else knows.
        let Some(new) = (unsafe { self.heap.realloc(block, request) }) else {
            self.verify(address, expected, expected.request.size_bytes())
                .map_err(|e| format!("realloc failed, and {e}"))?;
            self.live.insert(address, expected);
            return Ok(None);
        };
        let preserved = expected.request.size_bytes().min(request.size_bytes());
        let moved = Expected { request, ..expected };
        self.verify(new.as_ptr() as usize, moved, preserved).map_err(|e| format!("after realloc: {e}"))?;
        self.record_alloc(new, request).map(Some)
    }

    /// Verifies every block.
    pub fn verify_all(&self) -> Result<(), String> {
        self.live.iter().try_for_each(|(&at, &expected)| {
            self.verify(at, expected, expected.request.size_bytes()).map(drop)
        })
    }

    /// Frees every block.
    pub fn clear(&mut self) -> Result<(), String> {
        let all: Vec<usize> = self.blocks().collect();
        all.into_iter().try_for_each(|address| self.free(address))
    }

    /// Whether a block is where and as it should be, and its first `len` bytes hold what was written.
    fn verify(&self, address: usize, expected: Expected, len: usize) -> Result<NonNull<u8>, String> {
        let block = NonNull::new(address as *mut u8).ok_or("a block at 0")?;
        for i in 0..len {
            // SAFETY: within the block.
            let byte_read = unsafe { block.add(i).read() };
            if byte_read != byte(expected.seed, i) {
                return Err(format!(
                    "{:?} at {address:#x}: byte {i} of {len} is {byte_read:#04x}",
                    expected.request
                ));
            }
        }
        Ok(block)
    }

    /// Records a new block and fills it.
    fn record_alloc(&mut self, block: NonNull<u8>, request: Request) -> Result<usize, String> {
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
        let before = self.live.range(..=address).next_back();
        let behind = self.live.range(address..).next();
        let overlaps = before.is_some_and(|(at, expected)| at + expected.usable > address);
        if overlaps || behind.is_some_and(|(at, _)| address + usable > *at) {
            return Err(format!("{request:?} at {address:#x}: shares bytes with {before:x?} or {behind:x?}"));
        }
        self.next_seed = self.next_seed.wrapping_mul(5).wrapping_add(1);
        let expected = Expected { request, usable, seed: self.next_seed };
        for i in 0..usable {
            // SAFETY: within the usable size.
            unsafe { block.add(i).write(byte(expected.seed, i)) };
        }
        self.live.insert(address, expected);
        Ok(address)
    }
}
