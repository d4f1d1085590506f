//! The heap itself: blocks out of pools and back.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use crate::request::{ALIGN_MIN, Request};
use crate::stats::Stats;

use super::block::{Block, OVERHEAD, TOTAL_MIN, total_for};
use super::class::{Class, GRANULE};
use super::index::Index;
use super::poison;
use super::pool::Pools;

/// Blocks of a request's own class that are looked at when no later class has any.
pub const LOOK_MAX: usize = 8;

/// A heap of pools, for one caller at a time. See the module for what it guarantees.
#[repr(C)]
#[derive(Debug)]
pub struct Tlsf {
    counts: Counts,
    pub(super) index: Index,
    pub(super) pools: Pools,
    pool_bytes: u64,
    pool_count: u64,
    failures: u64,
    misuses: u64,
}

/// What changes with every call.
#[derive(Debug)]
struct Counts {
    used_bytes: u64,
    peak_bytes: u64,
    blocks: u64,
    free_blocks: u64,
}

// SAFETY: what its pointers lead to is the heap's own.
unsafe impl Send for Tlsf {}

impl Default for Tlsf {
    fn default() -> Self {
        Tlsf::new()
    }
}

impl Tlsf {
    /// A heap without memory.
    pub const fn new() -> Tlsf {
        Tlsf {
            counts: Counts { used_bytes: 0, peak_bytes: 0, blocks: 0, free_blocks: 0 },
            index: Index::new(),
            pools: Pools::new(),
            pool_bytes: 0,
            pool_count: 0,
            failures: 0,
            misuses: 0,
        }
    }

    /// Adds an area of memory. `false` when it is too small or too large to be a pool.
    ///
    /// # Safety
    /// * The area is writable memory that is nobody else's for as long as the heap is used.
    pub unsafe fn add_pool(&mut self, base: NonNull<u8>, len_bytes: usize) -> bool {
        // SAFETY: the caller's contract; `&mut self` keeps others out.
        let Some(block) = (unsafe { self.pools.add(base, len_bytes) }) else { return false };
        // SAFETY: a new pool's block is free and in no list.
        unsafe {
            let total = block.total();
            self.pool_bytes += total as u64;
            self.pool_count += 1;
            self.insert(block, total);
        }
        true
    }

    /// A block, or `None` when no free one is large enough.
    #[inline]
    pub fn alloc(&mut self, request: Request) -> Option<NonNull<u8>> {
        let total = total_for(request.size_bytes());
        let found = if request.align_bytes() == ALIGN_MIN {
            self.take(total, request)
        } else {
            // The gap in front is 0 or a block of its own.
            self.take(total + request.align_bytes() + GRANULE, request)
        };
        let Some(block) = found else {
            self.failures += 1;
            return None;
        };
        // SAFETY: `take` has found a block in which the request fits behind its gap.
        unsafe {
            let block = self.skip(block, gap_of(block, request));
            let total = self.cut(block, block.total(), total, true);
            self.count_used(total);
            Some(block.0)
        }
    }

    /// Takes a block back. One that is free already is left alone, counted, and in debug builds the end.
    ///
    /// # Safety
    /// * `contents` came from this heap.
    #[inline]
    pub unsafe fn free(&mut self, contents: NonNull<u8>) {
        let mut block = Block(contents);
        // SAFETY: a block of this heap and its neighbours, whose words say what may be read.
        unsafe {
            if block.is_free() {
                self.misuses += 1;
                debug_assert!(false, "a block was freed twice");
                return;
            }
            let mut total = block.total();
            self.counts.used_bytes -= total as u64;
            self.counts.blocks -= 1;
            let next = block.next();
            let is_next_free = next.is_free();
            if is_next_free {
                self.remove(next);
                total += next.total();
            }
            if block.is_previous_free() {
                block.mark_free();
                block = block.previous();
                self.remove(block);
                total += block.total();
            }
            block.begin(total, true);
            if is_next_free {
                block.tell_start();
            } else {
                block.tell_free();
            }
            self.insert(block, total);
        }
    }

    /// Makes a block larger or smaller where it is; `false`, and nothing has changed, when it cannot be.
    ///
    /// # Safety
    /// * `contents` came from this heap and was not freed.
    #[inline]
    pub unsafe fn resize(&mut self, contents: NonNull<u8>, request: Request) -> bool {
        let block = Block(contents);
        let total = total_for(request.size_bytes());
        // SAFETY: as for `free`.
        unsafe {
            let old = block.total();
            let next = block.next();
            let most = if next.is_free() { old + next.total() } else { old };
            if !request.is_aligned(contents.as_ptr() as usize) || most < total {
                return false;
            }
            // The same room, or less by what could be no block: nothing to do.
            if total == old || most == old && old - total < TOTAL_MIN {
                return true;
            }
            if most > old {
                self.remove(next);
            }
            let total = self.cut(block, most, total, most > old);
            self.counts.used_bytes -= old as u64;
            self.counts.blocks -= 1;
            self.count_used(total);
        }
        true
    }

    /// Whether an address lies in a pool. May be called while others use the heap.
    ///
    /// # Safety
    /// * `this` is a heap.
    pub unsafe fn owns(this: *const Tlsf, address: usize) -> bool {
        // SAFETY: the list of pools is read while it grows.
        unsafe { (*this).pools.contains(address) }
    }

    /// The counts, and the largest request that would be served now. Takes a bounded number of steps.
    pub fn stats(&self) -> Stats {
        Stats {
            pool_bytes: self.pool_bytes,
            used_bytes: self.counts.used_bytes,
            peak_bytes: self.counts.peak_bytes,
            free_bytes: self.pool_bytes - self.counts.used_bytes,
            largest_free_bytes: self.largest_free() as u64,
            blocks: self.counts.blocks,
            free_blocks: self.counts.free_blocks,
            pools: self.pool_count,
            failures: self.failures,
            misuses: self.misuses,
            ..Stats::EMPTY
        }
    }

    /// What `alloc` can surely serve: the largest of the blocks that it would look at.
    fn largest_free(&self) -> usize {
        let first = self.index.last().and_then(|class| self.index.first(class));
        let mut largest = 0;
        let mut at = first;
        for _ in 0..LOOK_MAX {
            let Some(block) = at else { break };
            // SAFETY: blocks in lists are free blocks of this heap.
            unsafe {
                largest = largest.max(block.total() - OVERHEAD);
                at = block.links().read()[0];
            }
        }
        largest
    }

    /// Takes a free block out in which the request fits; `total` is what is enough in any case.
    #[inline(always)]
    fn take(&mut self, total: usize, request: Request) -> Option<Block> {
        if let Some(class) = Class::fitting(total).and_then(|class| self.index.find(class))
            && let Some(block) = self.index.first(class)
        {
            // SAFETY: it is the first of its class.
            unsafe {
                block.fetch_at(total);
                self.index.pop(class, block);
                poison::check(block);
            }
            self.counts.free_blocks -= 1;
            return Some(block);
        }
        let block = self.look(total, request)?;
        // SAFETY: it is the heap's, free and in its list.
        unsafe { self.remove(block) };
        Some(block)
    }

    /// The class of a request has blocks that are too small and such that are not: looks at some of them.
    #[cold]
    fn look(&self, total: usize, request: Request) -> Option<Block> {
        if total >= super::class::TOTAL_END {
            return None;
        }
        let needed = total_for(request.size_bytes());
        let mut at = self.index.first(Class::of(total));
        for _ in 0..LOOK_MAX {
            let block = at?;
            // SAFETY: blocks in lists are free blocks of this heap.
            unsafe {
                if block.total() >= needed + gap_of(block, request) {
                    return Some(block);
                }
                at = block.links().read()[0];
            }
        }
        None
    }

    /// Gives the first `gap` bytes of a block that is in no list back; the rest is returned.
    ///
    /// # Safety
    /// * `gap` is 0, or both it and the rest are large enough for a block.
    #[inline(always)]
    unsafe fn skip(&mut self, block: Block, gap: usize) -> Block {
        if gap == 0 {
            return block;
        }
        // SAFETY: the caller's contract; the block before a free one is used, so nothing is to be joined.
        unsafe {
            let rest = block.at(gap);
            rest.begin(block.total() - gap, false);
            block.set_total(gap);
            block.tell_free();
            self.insert(block, gap);
            rest
        }
    }

    /// Makes a block of `most` bytes that is in no list a used one of `total` or a little more, which is
    /// returned, and gives what is behind that back.
    ///
    /// # Safety
    /// * The block has `most` bytes, at least `total`; the one behind it is not free, and takes it for free
    ///   if `is_told`.
    #[inline(always)]
    unsafe fn cut(&mut self, block: Block, most: usize, total: usize, is_told: bool) -> usize {
        // SAFETY: the caller's contract.
        unsafe {
            let left = most - total;
            if left < TOTAL_MIN {
                block.set_used(most);
                block.tell_used();
                return most;
            }
            block.set_used(total);
            let rest = block.at(total);
            rest.begin(left, true);
            if is_told {
                rest.tell_start();
            } else {
                rest.tell_free();
            }
            self.insert(rest, left);
            total
        }
    }

    #[inline(always)]
    fn count_used(&mut self, total: usize) {
        self.counts.used_bytes += total as u64;
        self.counts.peak_bytes = self.counts.peak_bytes.max(self.counts.used_bytes);
        self.counts.blocks += 1;
    }

    #[inline(always)]
    unsafe fn insert(&mut self, block: Block, total: usize) {
        // SAFETY: the callers' blocks are free, of this size, and in no list.
        unsafe {
            poison::fill(block);
            self.index.insert(block, total);
        }
        self.counts.free_blocks += 1;
    }

    #[inline(always)]
    unsafe fn remove(&mut self, block: Block) {
        // SAFETY: the callers' blocks are free and in their lists.
        unsafe {
            self.index.remove(block);
            poison::check(block);
        }
        self.counts.free_blocks -= 1;
    }
}

/// What is before the first address in a block that is as aligned as the request: nothing, or enough for a
/// block.
#[inline(always)]
fn gap_of(block: Block, request: Request) -> usize {
    let gap = (block.0.as_ptr() as usize).wrapping_neg() & (request.align_bytes() - 1);
    if gap == GRANULE { gap + request.align_bytes() } else { gap }
}
