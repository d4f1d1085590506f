//! A pool: an area of memory, cut into blocks from its first byte to its last. Pools know each other, newest
//! first, so that they can be walked and there may be any number.
//!
//! ```text
//!     0  next     the pool that was added before this one, or null
//!     8  end      the first address behind this pool
//!    16  unused   what would be the `previous` of the first block
//!    24  header   of the first block
//!    32  blocks   ...
//!  end-8 header   a total of 0: the end, never free
//! ```
#![allow(unsafe_code)]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::request::{ALIGN_MIN, Request};

use super::block::{Block, TOTAL_MIN, total_for};
use super::size_class::{GRANULE, TOTAL_END};

/// Bytes of a pool before its first block's contents.
const FRONT: usize = 32;
/// The smallest area that can be a pool.
pub const POOL_BYTES_MIN: usize = FRONT + TOTAL_MIN;

#[repr(C)]
#[derive(Debug)]
pub(super) struct Pool {
    next: *mut Pool,
    end: usize,
}

/// All pools of a heap. They are never removed, so they may be read while one is added, also by another process: it is the
/// address of the newest.
#[repr(transparent)]
#[derive(Debug)]
pub(super) struct Pools(AtomicPtr<Pool>);

impl Pools {
    pub(super) const fn new() -> Pools {
        Pools(AtomicPtr::new(core::ptr::null_mut()))
    }

    /// Makes an area a pool of one free block, which is returned; `None` when it is too small or so large
    /// that no class has its block.
    ///
    /// # Safety
    /// * Ours: the area is writable memory that is nobody else's for as long as the heap is used.
    /// * One at a time: no two threads add pools at the same time.
    pub(super) unsafe fn add(&self, base: NonNull<u8>, len_bytes: usize) -> Option<Block> {
        let skip = (base.as_ptr() as usize).wrapping_neg() % GRANULE;
        let len = len_bytes.checked_sub(skip)? & !(GRANULE - 1);
        if len < POOL_BYTES_MIN || len - FRONT >= TOTAL_END {
            return None;
        }
        // SAFETY: ours: all writes are within the area, by the table above; aligned, because `skip` makes it so. One
        // at a time: the list's head does not change meanwhile.
        unsafe {
            let base = base.add(skip);
            let pool = base.cast::<Pool>();
            pool.write(Pool { next: self.0.load(Ordering::Relaxed), end: base.as_ptr() as usize + len });
            let first = Block(base.add(FRONT));
            first.write_header(len - FRONT, true);
            first.next().write_header(0, false);
            first.mark_next_previous_free();
            self.0.store(pool.as_ptr(), Ordering::Release);
            Some(first)
        }
    }

    /// Calls `visit` with the address of each pool, its end, and its first block.
    pub(super) fn for_each(&self, mut visit: impl FnMut(usize, usize, Block)) {
        let mut at = self.0.load(Ordering::Acquire);
        // SAFETY: a pool that is in the list was written before, and stays.
        while let Some(pool) = unsafe { at.as_ref() } {
            if let Some(first) = NonNull::new(at.cast::<u8>().wrapping_add(FRONT)) {
                visit(at as usize, pool.end, Block(first));
            }
            at = pool.next;
        }
    }

    /// Whether an address lies where blocks do.
    pub(super) fn contains(&self, address: usize) -> bool {
        let mut is_in = false;
        self.for_each(|start, end, _| is_in |= (start + FRONT..end).contains(&address));
        is_in
    }
}

/// How long an area has to be to serve a request as a pool of its own, wherever it lies; `None` when no area
/// can.
pub const fn pool_bytes_for(request: Request) -> Option<usize> {
    let total = total_for(request.size_bytes());
    let gap = if request.align_bytes() > ALIGN_MIN { request.align_bytes() + TOTAL_MIN } else { 0 };
    match total.checked_add(gap + FRONT + 2 * GRANULE) {
        Some(len) if len < TOTAL_END => Some(len),
        _ => None,
    }
}
