//! A block, its header, and its physical neighbours. A block is named by the address of its contents; the header
//! before it says how far the next one is, and whether it and the one before it are free.
//!
//! ```text
//!      -16  previous   the block before this one, only when that is free (else the end of its contents)
//!       -8  header     bits 4.. distance to the next block ("total"), bit 0 this is free, bit 1 the one
//!                      before is free. A total of 0 is the end of a pool
//!        0  contents   total - 8 bytes. While it is free: next and previous of its class's list, then
//!                      anything, then its own address for the block behind it
//! ```
//! The header is atomic because its total is read without the lock while others change bit 1.
#![allow(unsafe_code)]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::size_class::GRANULE;

const FREE: usize = 1;
const PREVIOUS_FREE: usize = 2;
const FLAGS: usize = GRANULE - 1;

/// What a block costs besides its contents.
pub(super) const OVERHEAD: usize = 8;
/// A smaller piece cannot be free: it has no room for a list's two words and its own address.
pub(crate) const TOTAL_MIN: usize = 32;

/// What a block for `size` bytes of contents takes of a pool, at least.
#[inline(always)]
pub const fn total_for(size: usize) -> usize {
    let total = size.saturating_add(OVERHEAD + GRANULE - 1) & !(GRANULE - 1);
    if total < TOTAL_MIN { TOTAL_MIN } else { total }
}

/// The address of a block's contents, a multiple of 16 that is never 0.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Block(pub(super) NonNull<u8>);

impl Block {
    /// # Safety
    /// * In a pool: the block, or the end of a pool, lies in a pool of this heap.
    #[inline(always)]
    unsafe fn header<'a>(self) -> &'a AtomicUsize {
        debug_assert!((self.0.as_ptr() as usize).is_multiple_of(GRANULE));
        // SAFETY: in a pool: the word before the contents is the block's own, aligned, and lives as long as its
        // pool.
        unsafe { self.0.cast::<AtomicUsize>().sub(1).as_ref() }
    }

    /// # Safety
    /// * In a pool: as for `header`.
    #[inline(always)]
    unsafe fn get(self) -> usize {
        // SAFETY: in a pool.
        unsafe { self.header() }.load(Ordering::Relaxed)
    }

    /// Writes the header anew: the total and whether this is free; the block before it is not.
    ///
    /// # Safety
    /// * In a pool: the header lies in a pool of this heap.
    /// * Nobody's: no other block's contents are there, but those of a free one.
    #[inline(always)]
    pub(super) unsafe fn write_header(self, total: usize, is_free: bool) {
        debug_assert!(total & FLAGS == 0);
        // SAFETY: in a pool.
        unsafe { self.header() }.store(total | usize::from(is_free), Ordering::Relaxed);
    }

    /// Bytes to the next block.
    ///
    /// # Safety
    /// * In a pool: the block, or the end of a pool, lies in a pool of this heap.
    #[inline(always)]
    pub(super) unsafe fn total(self) -> usize {
        // SAFETY: in a pool.
        unsafe { self.get() & !FLAGS }
    }

    /// # Safety
    /// * In a pool: the block, or the end of a pool, lies in a pool of this heap.
    #[inline(always)]
    pub(super) unsafe fn is_free(self) -> bool {
        // SAFETY: in a pool.
        unsafe { self.get() & FREE != 0 }
    }

    /// # Safety
    /// * In a pool: the block, or the end of a pool, lies in a pool of this heap.
    #[inline(always)]
    pub(super) unsafe fn is_previous_free(self) -> bool {
        // SAFETY: in a pool.
        unsafe { self.get() & PREVIOUS_FREE != 0 }
    }

    /// Marks it as free, so that freeing it again is seen even when it has been merged into another.
    ///
    /// # Safety
    /// * In a pool: the block lies in a pool of this heap.
    #[inline(always)]
    pub(super) unsafe fn mark_free(self) {
        // SAFETY: in a pool.
        unsafe { self.header().store(self.get() | FREE, Ordering::Relaxed) };
    }

    /// Makes it a used block of `total` bytes; what it knows of the one before it stays.
    ///
    /// # Safety
    /// * In a pool: the block lies in a pool of this heap, and so do `total` bytes from its header on.
    #[inline(always)]
    pub(super) unsafe fn set_used(self, total: usize) {
        debug_assert!(total & FLAGS == 0 && total >= TOTAL_MIN);
        // SAFETY: in a pool.
        unsafe { self.header().store(total | self.get() & PREVIOUS_FREE, Ordering::Relaxed) };
    }

    /// Changes the total and leaves the flags.
    ///
    /// # Safety
    /// * In a pool: as for [`Block::set_used`].
    #[inline(always)]
    pub(super) unsafe fn set_total(self, total: usize) {
        debug_assert!(total & FLAGS == 0 && total >= TOTAL_MIN);
        // SAFETY: in a pool.
        unsafe { self.header().store(total | self.get() & FLAGS, Ordering::Relaxed) };
    }

    /// The block behind this one, or the pool's end.
    ///
    /// # Safety
    /// * In a pool: the block lies in a pool of this heap, and is not its end.
    #[inline(always)]
    pub(super) unsafe fn next(self) -> Block {
        // SAFETY: in a pool: a total leads to the next block of the same pool.
        unsafe { Block(self.0.add(self.total())) }
    }

    /// The block before this one.
    ///
    /// # Safety
    /// * In a pool: the block, or the end of a pool, lies in a pool of this heap.
    /// * Previous free: the block before it is free.
    #[inline(always)]
    pub(super) unsafe fn previous(self) -> Block {
        // SAFETY: previous free: such a block has written its address here.
        unsafe {
            debug_assert!(self.is_previous_free());
            Block(self.0.cast::<NonNull<u8>>().sub(2).read())
        }
    }

    /// Writes into the block behind this one that this is free, and where it begins.
    ///
    /// # Safety
    /// * In a pool: the block lies in a pool of this heap, and is not its end.
    /// * Free: its contents are nobody's.
    #[inline(always)]
    pub(super) unsafe fn mark_next_previous_free(self) {
        // SAFETY: in a pool: the header of the next block is there. Free: the end of the contents is the next
        // block's `previous`.
        unsafe {
            let next = self.next();
            next.0.cast::<NonNull<u8>>().sub(2).write(self.0);
            next.header().store(next.get() | PREVIOUS_FREE, Ordering::Relaxed);
        }
    }

    /// The same where the block behind knows already that one before it is free, only not this one. It is
    /// written to and not read: its header may be far away, and nothing waits for a write.
    ///
    /// # Safety
    /// * As for [`Block::mark_next_previous_free`].
    #[inline(always)]
    pub(super) unsafe fn link_next(self) {
        // SAFETY: free: the end of the contents is the next block's `previous`.
        unsafe { self.next().0.cast::<NonNull<u8>>().sub(2).write(self.0) };
    }

    /// Writes into the block behind this one that this is used.
    ///
    /// # Safety
    /// * In a pool: the block lies in a pool of this heap, and is not its end.
    #[inline(always)]
    pub(super) unsafe fn mark_next_previous_used(self) {
        // SAFETY: in a pool: the header of the next block is there.
        unsafe {
            let next = self.next();
            next.header().store(next.get() & !PREVIOUS_FREE, Ordering::Relaxed);
        }
    }

    /// The block that begins so far behind this one.
    ///
    /// # Safety
    /// * Within: the offset is less than the block's total.
    #[inline(always)]
    pub(super) unsafe fn at_offset(self, offset: usize) -> Block {
        // SAFETY: within: the address lies in the same pool.
        unsafe { Block(self.0.add(offset)) }
    }

    /// The two words of its class's list: next, previous.
    #[inline(always)]
    pub(super) fn links(self) -> NonNull<[Option<Block>; 2]> {
        self.0.cast()
    }

    /// Prefetches the words of its neighbours that merging them will look at. Any thread may do that at any
    /// time: it reads what the block's owner may read, and where a neighbour begins as a hint only.
    ///
    /// # Safety
    /// * Used: the block was allocated by a heap of this kind and was not freed.
    #[inline(always)]
    pub(super) unsafe fn prefetch_neighbours(self) {
        // SAFETY: used: its header holds, and what stands before that is memory of its pool.
        unsafe {
            prefetch(self.next().0.as_ptr());
            if self.is_previous_free() {
                let start = self.0.cast::<AtomicUsize>().sub(2).as_ref().load(Ordering::Relaxed);
                prefetch(start as *const u8);
            }
        }
    }

    /// Prefetches the words of the block that begins so far behind this one, be it one already or about to be
    /// split off: together with this one's words, not after them.
    #[inline(always)]
    pub(super) fn prefetch_at(self, offset: usize) {
        prefetch(self.0.as_ptr().wrapping_add(offset));
    }
}

/// Prefetches the header and the links of a block, which may be in two cache lines. Any address will do.
#[inline(always)]
fn prefetch(contents: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing and fails nowhere.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(contents.wrapping_sub(OVERHEAD).cast());
        _mm_prefetch::<_MM_HINT_T0>(contents.cast());
    }
}

/// A null pointer is `None`.
const _: () = assert!(size_of::<Option<Block>>() == 8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_costs_eight_bytes() {
        for (size, total) in
            [(0, 32), (1, 32), (24, 32), (25, 48), (40, 48), (41, 64), (56, 64), (4088, 4096)]
        {
            assert_eq!(total_for(size), total, "{size}");
        }
        assert!(total_for(usize::MAX) > isize::MAX as usize);
    }
}
