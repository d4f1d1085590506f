//! A block and the words around it. A block is named by the address of its contents; the word before it says
//! how far the next one is, and whether it and the one before it are free.
//!
//! ```text
//!      -16  previous   the block before this one, only when that is free (else the end of its contents)
//!       -8  word       bits 4.. distance to the next block ("total"), bit 0 this is free, bit 1 the one
//!                      before is free. A total of 0 is the end of a pool
//!        0  contents   total - 8 bytes. While it is free: next and previous of its class's list, then
//!                      anything, then its own address for the block behind it
//! ```
//! The word is atomic because its total is read without the lock while others change bit 1.
#![allow(unsafe_code)]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::class::GRANULE;

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
///
/// All functions need what their callers have: the block lies in a pool of this heap, and what they read is
/// there by the table above.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Block(pub(super) NonNull<u8>);

impl Block {
    #[inline(always)]
    unsafe fn word<'a>(self) -> &'a AtomicUsize {
        // SAFETY: the word before the contents is a block's own, aligned, and lives as long as its pool.
        unsafe { self.0.cast::<AtomicUsize>().sub(1).as_ref() }
    }

    #[inline(always)]
    unsafe fn get(self) -> usize {
        // SAFETY: as for `word`.
        unsafe { self.word() }.load(Ordering::Relaxed)
    }

    /// Writes the word anew: its total and whether it is free; the block before it is not.
    #[inline(always)]
    pub(super) unsafe fn begin(self, total: usize, is_free: bool) {
        debug_assert!(total & FLAGS == 0);
        // SAFETY: as for `word`.
        unsafe { self.word() }.store(total | usize::from(is_free), Ordering::Relaxed);
    }

    /// Bytes to the next block.
    #[inline(always)]
    pub(super) unsafe fn total(self) -> usize {
        // SAFETY: as for `word`.
        unsafe { self.get() & !FLAGS }
    }

    #[inline(always)]
    pub(super) unsafe fn is_free(self) -> bool {
        // SAFETY: as for `word`.
        unsafe { self.get() & FREE != 0 }
    }

    #[inline(always)]
    pub(super) unsafe fn is_previous_free(self) -> bool {
        // SAFETY: as for `word`.
        unsafe { self.get() & PREVIOUS_FREE != 0 }
    }

    /// Marks it as free, so that freeing it again is seen even when it has become part of another.
    #[inline(always)]
    pub(super) unsafe fn mark_free(self) {
        // SAFETY: as for `word`.
        unsafe { self.word().store(self.get() | FREE, Ordering::Relaxed) };
    }

    /// Makes it a used block of `total` bytes; what it knows of the one before it stays.
    #[inline(always)]
    pub(super) unsafe fn set_used(self, total: usize) {
        debug_assert!(total & FLAGS == 0);
        // SAFETY: as for `word`.
        unsafe { self.word().store(total | self.get() & PREVIOUS_FREE, Ordering::Relaxed) };
    }

    /// Changes the total and leaves the flags.
    #[inline(always)]
    pub(super) unsafe fn set_total(self, total: usize) {
        debug_assert!(total & FLAGS == 0);
        // SAFETY: as for `word`.
        unsafe { self.word().store(total | self.get() & FLAGS, Ordering::Relaxed) };
    }

    /// The block behind this one, or the pool's end.
    #[inline(always)]
    pub(super) unsafe fn next(self) -> Block {
        // SAFETY: a total leads to the next block of the same pool.
        unsafe { Block(self.0.add(self.total())) }
    }

    /// The block before this one.
    ///
    /// # Safety
    /// * It is free.
    #[inline(always)]
    pub(super) unsafe fn previous(self) -> Block {
        // SAFETY: the block before is free and has left its address here.
        unsafe { Block(self.0.cast::<NonNull<u8>>().sub(2).read()) }
    }

    /// Tells the block behind this one that this is free.
    #[inline(always)]
    pub(super) unsafe fn tell_free(self) {
        // SAFETY: the words of the next block; the end of our contents, which are nobody's, is its `previous`.
        unsafe {
            let next = self.next();
            next.0.cast::<NonNull<u8>>().sub(2).write(self.0);
            next.word().store(next.get() | PREVIOUS_FREE, Ordering::Relaxed);
        }
    }

    /// The same where the block behind knows already that one before it is free, only not this one. It is
    /// written to and not read: its words may be far away, and nothing waits for a write.
    #[inline(always)]
    pub(super) unsafe fn tell_start(self) {
        // SAFETY: as for `tell_free`.
        unsafe { self.next().0.cast::<NonNull<u8>>().sub(2).write(self.0) };
    }

    /// Tells the block behind this one that this is used.
    #[inline(always)]
    pub(super) unsafe fn tell_used(self) {
        // SAFETY: the word of the next block.
        unsafe {
            let next = self.next();
            next.word().store(next.get() & !PREVIOUS_FREE, Ordering::Relaxed);
        }
    }

    /// The block that begins so far behind this one.
    #[inline(always)]
    pub(super) unsafe fn at(self, offset: usize) -> Block {
        // SAFETY: the callers stay within this block.
        unsafe { Block(self.0.add(offset)) }
    }

    /// The two words of its class's list: next, previous.
    #[inline(always)]
    pub(super) fn links(self) -> NonNull<[Option<Block>; 2]> {
        self.0.cast()
    }

    /// Has the words of its neighbours come into the cache that joining them will look at. Any thread may do
    /// that at any time: it reads what its owner may read, and where a neighbour begins as a hint only.
    #[inline(always)]
    pub(super) unsafe fn fetch(self) {
        // SAFETY: the block is handed out, so its word holds; what stands before it is memory of the pool.
        unsafe {
            hint(self.next().0.as_ptr());
            if self.is_previous_free() {
                let start = self.0.cast::<AtomicUsize>().sub(2).as_ref().load(Ordering::Relaxed);
                hint(start as *const u8);
            }
        }
    }

    /// Has the words of the block that begins so far behind this one come into the cache, be it one already or
    /// about to be cut off: together with this one's words, not after them.
    #[inline(always)]
    pub(super) fn fetch_at(self, offset: usize) {
        hint(self.0.as_ptr().wrapping_add(offset));
    }
}

/// Fetches the word and the links of a block, which may be in two lines. Any address will do.
#[inline(always)]
fn hint(contents: *const u8) {
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
