//! The calls: blocks are allocated from pools, split, merged and freed.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use crate::request::{ALIGN_MIN, Request};
use crate::stats::Stats;

use super::block::{Block, OVERHEAD, TOTAL_MIN, total_for};
use super::free_lists::FreeLists;
use super::poison;
use super::pool::Pools;
use super::size_class::{GRANULE, SizeClass, TOTAL_END};

/// Blocks of a request's own class that are looked at when no later class has any.
pub const SEARCH_MAX: usize = 8;

/// A heap of pools, for one caller at a time. See the module for what it guarantees.
#[repr(C)]
#[derive(Debug)]
pub struct Tlsf {
    counts: Counts,
    pub(super) free_lists: FreeLists,
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
            free_lists: FreeLists::new(),
            pools: Pools::new(),
            pool_bytes: 0,
            pool_count: 0,
            failures: 0,
            misuses: 0,
        }
    }

    /// Where a heap has the address of its newest pool, which has that of the one before: for those who read from outside.
    pub fn pools_address(this: *const Tlsf) -> usize {
        this as usize + core::mem::offset_of!(Tlsf, pools)
    }

    /// Adds an area of memory. `false` when it is too small or too large to be a pool.
    ///
    /// # Safety
    /// * Ours: the area is writable memory that is nobody else's for as long as the heap is used.
    pub unsafe fn add_pool(&mut self, base: NonNull<u8>, len_bytes: usize) -> bool {
        // SAFETY: ours; one at a time, because of `&mut self`.
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

    /// Allocates a block; `None` when no free one is large enough.
    #[inline]
    pub fn alloc(&mut self, request: Request) -> Option<NonNull<u8>> {
        let total = total_for(request.size_bytes());
        let block = if request.align_bytes() == ALIGN_MIN {
            self.remove_suitable(total, request)
        } else {
            // The gap in front is 0 or a block of its own.
            self.remove_suitable(total + request.align_bytes() + GRANULE, request)
        };
        let Some(block) = block else {
            self.failures += 1;
            return None;
        };
        // SAFETY: `remove_suitable` gives a free block that is in no list and in which the request fits behind
        // its gap; the block behind a free one is used.
        unsafe {
            let block = self.split_front(block, gap_of(block, request));
            let total = self.split(block, Split { most: block.total(), total, is_next_marked: true });
            self.count_used(total);
            Some(block.0)
        }
    }

    /// Frees a block. One that is free already is left alone, counted, and in debug builds ends the program.
    ///
    /// # Safety
    /// * Allocated: `contents` was allocated by this heap.
    #[inline]
    pub unsafe fn free(&mut self, contents: NonNull<u8>) {
        let mut block = Block(contents);
        // SAFETY: allocated: it is a block of this heap, and so are its neighbours, whose headers say what may be
        // read.
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
            // Merge with the next block.
            if is_next_free {
                self.remove(next);
                total += next.total();
            }
            // Merge with the previous block.
            if block.is_previous_free() {
                block.mark_free();
                block = block.previous();
                self.remove(block);
                total += block.total();
            }
            block.write_header(total, true);
            if is_next_free {
                block.link_next();
            } else {
                block.mark_next_previous_free();
            }
            self.insert(block, total);
        }
    }

    /// Makes a block larger or smaller where it is; `false`, and nothing has changed, when it cannot be.
    ///
    /// # Safety
    /// * Used: `contents` was allocated by this heap and was not freed.
    #[inline]
    pub unsafe fn resize(&mut self, contents: NonNull<u8>, request: Request) -> bool {
        let block = Block(contents);
        let total = total_for(request.size_bytes());
        // SAFETY: used: it is a block of this heap, and the one behind it is a block or the end of the pool.
        unsafe {
            debug_assert!(!block.is_free(), "a block was resized after it was freed");
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
            let total = self.split(block, Split { most, total, is_next_marked: most > old });
            self.counts.used_bytes -= old as u64;
            self.counts.blocks -= 1;
            self.count_used(total);
        }
        true
    }

    /// Whether an address lies in a pool. May be called while other threads use the heap.
    ///
    /// # Safety
    /// * A heap: `this` points to a heap.
    pub unsafe fn owns(this: *const Tlsf, address: usize) -> bool {
        // SAFETY: a heap; its list of pools may be read while it grows.
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
        let mut largest = 0;
        let mut at = self.free_lists.last().and_then(|class| self.free_lists.head(class));
        for _ in 0..SEARCH_MAX {
            let Some(block) = at else { break };
            // SAFETY: blocks in lists are free blocks of this heap.
            unsafe {
                largest = largest.max(block.total() - OVERHEAD);
                at = block.links().read()[0];
            }
        }
        largest
    }

    /// Removes a free block from its list in which the request fits; `total` is what is enough in any case.
    #[inline(always)]
    fn remove_suitable(&mut self, total: usize, request: Request) -> Option<Block> {
        if let Some(class) =
            SizeClass::mapping_search(total).and_then(|class| self.free_lists.find_suitable(class))
            && let Some(block) = self.free_lists.head(class)
        {
            // SAFETY: it is the head of its class, and so a free block of this heap.
            unsafe {
                block.prefetch_at(total);
                self.free_lists.remove_head(class, block);
                poison::check(block);
            }
            self.counts.free_blocks -= 1;
            return Some(block);
        }
        let block = self.search_class(total, request)?;
        // SAFETY: it is free, of this heap, and in the list of its class.
        unsafe { self.remove(block) };
        Some(block)
    }

    /// The class of a request has blocks that are too small and such that are not: looks at some of them.
    #[cold]
    fn search_class(&self, total: usize, request: Request) -> Option<Block> {
        if total >= TOTAL_END {
            return None;
        }
        let needed = total_for(request.size_bytes());
        let mut at = self.free_lists.head(SizeClass::mapping_insert(total));
        for _ in 0..SEARCH_MAX {
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

    /// Splits the first `gap` bytes off a block and inserts them as a free one; the rest is returned.
    ///
    /// # Safety
    /// * Free: the block is free, of this heap, and in no list; the one before it is used.
    /// * Sizes: `gap` is 0, or both it and the rest are large enough for a block.
    #[inline(always)]
    unsafe fn split_front(&mut self, block: Block, gap: usize) -> Block {
        if gap == 0 {
            return block;
        }
        // SAFETY: free: the contents are nobody's, and with a used one before it there is nothing to merge. Sizes:
        // the rest begins within the block.
        unsafe {
            debug_assert!(gap >= TOTAL_MIN && block.total() - gap >= TOTAL_MIN);
            let rest = block.at_offset(gap);
            rest.write_header(block.total() - gap, false);
            block.set_total(gap);
            block.mark_next_previous_free();
            self.insert(block, gap);
            rest
        }
    }

    /// Makes a used block of `split.total` bytes or a little more, which is returned, and inserts what is behind
    /// that as a free one.
    ///
    /// # Safety
    /// * Whole: the block has `split.most` bytes of this heap, at least `split.total`, and is in no list.
    /// * Next used: the block behind these bytes is not free, and takes the one before it for free if
    ///   `split.is_next_marked`.
    #[inline(always)]
    unsafe fn split(&mut self, block: Block, split: Split) -> usize {
        let Split { most, total, is_next_marked } = split;
        debug_assert!(most >= total);
        // SAFETY: whole: all that is written lies in the block. Next used: there is nothing to merge.
        unsafe {
            let rest_total = most - total;
            if rest_total < TOTAL_MIN {
                block.set_used(most);
                block.mark_next_previous_used();
                return most;
            }
            block.set_used(total);
            let rest = block.at_offset(total);
            rest.write_header(rest_total, true);
            if is_next_marked {
                rest.link_next();
            } else {
                rest.mark_next_previous_free();
            }
            self.insert(rest, rest_total);
            total
        }
    }

    #[inline(always)]
    fn count_used(&mut self, total: usize) {
        self.counts.used_bytes += total as u64;
        self.counts.peak_bytes = self.counts.peak_bytes.max(self.counts.used_bytes);
        self.counts.blocks += 1;
    }

    /// # Safety
    /// * Unlisted: the block is free, of this heap, has `total` bytes, and is in no list.
    #[inline(always)]
    unsafe fn insert(&mut self, block: Block, total: usize) {
        // SAFETY: unlisted.
        unsafe {
            debug_assert_eq!(block.total(), total);
            poison::fill(block);
            self.free_lists.insert(block, total);
        }
        self.counts.free_blocks += 1;
    }

    /// # Safety
    /// * Listed: the block is free, of this heap, and in the list of its class.
    #[inline(always)]
    unsafe fn remove(&mut self, block: Block) {
        // SAFETY: listed.
        unsafe {
            self.free_lists.remove(block);
            poison::check(block);
        }
        self.counts.free_blocks -= 1;
    }
}

/// How a block is split.
#[derive(Clone, Copy)]
struct Split {
    /// Bytes that there are.
    most: usize,
    /// Bytes that are wanted.
    total: usize,
    /// The block behind has it in its header that the one before it is free.
    is_next_marked: bool,
}

/// What is before the first address in a block that is as aligned as the request: nothing, or enough for a
/// block.
#[inline(always)]
fn gap_of(block: Block, request: Request) -> usize {
    let gap = (block.0.as_ptr() as usize).wrapping_neg() & (request.align_bytes() - 1);
    if gap == GRANULE { gap + request.align_bytes() } else { gap }
}
