//! A thread's cache of small blocks that it has freed, so that it need not take the lock for the next ones of their
//! sizes. For the pool they are allocated: nobody merges them with their neighbours. A cache lies in a pool itself,
//! and is another thread's when its own has ended.
//!
//! ```text
//!   bin 0     blocks of 32 bytes with what they cost       a list, newest first, 32 blocks at most
//!   bin 1     of 48
//!   ..
//!   bin 63    of 1,040
//!   filled    bit n: bin n has a block
//! ```
//! Only its thread works in it, and a signal handler that interrupts such work does not ([`Entered`]). What is
//! written is written in such an order that a thread that takes it over at any moment finds consistent lists; only
//! counts may be behind, and are made anew.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, compiler_fence};

use crate::tlsf::{GRANULE, TOTAL_MIN};

use super::freed_mark::{mark, next_of, unmark};

/// The largest request that is served from a cache.
pub(super) const SIZE_MAX: usize = 1024;
/// What its block takes of the pool.
pub(super) const TOTAL_MAX: usize = SIZE_MAX + GRANULE;
/// Blocks of one size at most.
const BIN_BLOCKS_MAX: u32 = 32;
const BINS: usize = (TOTAL_MAX - TOTAL_MIN) / GRANULE + 1;

const _: () = assert!(BINS == u64::BITS as usize && TOTAL_MAX == 1040);

/// A thread's cache.
pub(super) struct ThreadCache {
    /// The number of its heap, and that of its thread; 0 when no thread has it.
    pub(super) heap: u64,
    pub(super) owner: AtomicU32,
    busy: AtomicBool,
    /// The cache that was made before this one.
    pub(super) next: *const ThreadCache,
    /// What is in there; others read these for statistics.
    bytes: AtomicUsize,
    blocks: AtomicUsize,
    bins: UnsafeCell<Bins>,
}

struct Bins {
    filled: u64,
    /// The bin that the next block is evicted from, or the first filled one behind it.
    turn: u32,
    list: [Bin; BINS],
}

#[derive(Clone, Copy)]
struct Bin {
    first: Option<NonNull<u8>>,
    blocks: u32,
}

// SAFETY: `bins` is the owner's, while it is `Entered`; all else is atomic, or never changes once others see it.
unsafe impl Sync for ThreadCache {}

/// In place of a thread's cache when it is to have none: one of no heap.
pub(super) static NO_CACHE: ThreadCache = ThreadCache::of_no_heap();

impl ThreadCache {
    const fn of_no_heap() -> ThreadCache {
        ThreadCache {
            heap: u64::MAX,
            owner: AtomicU32::new(0),
            busy: AtomicBool::new(false),
            next: core::ptr::null(),
            bytes: AtomicUsize::new(0),
            blocks: AtomicUsize::new(0),
            bins: UnsafeCell::new(Bins { filled: 0, turn: 0, list: [Bin { first: None, blocks: 0 }; BINS] }),
        }
    }

    /// Makes an empty one, in its place: it is larger than what may be taken of a small stack.
    ///
    /// # Safety
    /// * Unused: the place is memory for it that is nobody else's.
    pub(super) unsafe fn write_new(place: NonNull<ThreadCache>, heap: u64, owner: u32) {
        let cache = place.as_ptr();
        // SAFETY: unused. Zeros are an empty cache: no next one, and no blocks in any list.
        unsafe {
            cache.write_bytes(0, 1);
            (&raw mut (*cache).heap).write(heap);
            (&raw mut (*cache).owner).write(AtomicU32::new(owner));
        }
    }

    /// Begins to work in it; `None` in a handler that interrupts such work.
    ///
    /// # Safety
    /// * Owned: the cache is this thread's.
    #[inline(always)]
    pub(super) unsafe fn enter(&self) -> Option<Entered<'_>> {
        if self.busy.load(Ordering::Relaxed) {
            return None;
        }
        self.busy.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        Some(Entered(self))
    }

    /// Repairs the counts of a cache whose thread ended while it was at work in it.
    ///
    /// # Safety
    /// * Owned: the cache is this thread's, which is not at work in it.
    pub(super) unsafe fn repair(&self) {
        if !self.busy.load(Ordering::Relaxed) {
            return;
        }
        // SAFETY: owned: nobody else looks at the bins.
        let bins = unsafe { &mut *self.bins.get() };
        let (mut blocks, mut bytes) = (0, 0);
        bins.filled = 0;
        for (number, bin) in bins.list.iter_mut().enumerate() {
            bin.blocks = 0;
            let mut at = bin.first;
            while let Some(block) = at {
                bin.blocks += 1;
                // SAFETY: a block in a list is the cache's, and its first word the next one.
                at = unsafe { next_of(block).read() };
            }
            bins.filled |= u64::from(bin.blocks > 0) << number;
            blocks += bin.blocks as usize;
            bytes += bin.blocks as usize * total_of(number);
        }
        self.blocks.store(blocks, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
        self.busy.store(false, Ordering::Relaxed);
    }

    /// Bytes in there.
    #[inline(always)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Blocks in there.
    #[inline(always)]
    pub(super) fn blocks(&self) -> usize {
        self.blocks.load(Ordering::Relaxed)
    }
}

/// The bin of blocks that take `total` bytes of the pool.
#[inline(always)]
pub(super) fn bin_of(total: usize) -> usize {
    (total - TOTAL_MIN) / GRANULE
}

#[inline(always)]
fn total_of(bin: usize) -> usize {
    TOTAL_MIN + bin * GRANULE
}

/// This thread is at work in its cache while this lives.
pub(super) struct Entered<'a>(&'a ThreadCache);

impl Drop for Entered<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.0.busy.store(false, Ordering::Relaxed);
    }
}

impl Entered<'_> {
    #[inline(always)]
    fn bins(&mut self) -> &mut Bins {
        // SAFETY: `ThreadCache::enter` says that the cache is this thread's, and `busy` that it is entered once.
        unsafe { &mut *self.0.bins.get() }
    }

    /// Pops the newest block of a bin.
    #[inline(always)]
    pub(super) fn pop(&mut self, number: usize) -> Option<NonNull<u8>> {
        let bins = self.bins();
        let bin = bins.list.get_mut(number)?;
        let block = bin.first?;
        // SAFETY: a block in a list is the cache's, with room for two words.
        unsafe {
            bin.first = next_of(block).read();
            compiler_fence(Ordering::SeqCst);
            bin.blocks -= 1;
            bins.filled &= !(u64::from(bin.first.is_none()) << number);
            unmark(block);
        }
        self.0.bytes.store(self.0.bytes() - total_of(number), Ordering::Relaxed);
        self.0.blocks.store(self.0.blocks() - 1, Ordering::Relaxed);
        Some(block)
    }

    /// Evicts a block, of another bin than that one.
    pub(super) fn evict(&mut self, but: Option<usize>) -> Option<NonNull<u8>> {
        let bins = self.bins();
        let filled = bins.filled & !but.map_or(0, |number| 1 << number);
        let ahead = filled & (u64::MAX << bins.turn);
        let number = if ahead != 0 { ahead } else { filled }.trailing_zeros();
        bins.turn = (number + 1) % u64::BITS;
        self.pop(number as usize)
    }

    /// Whether the bin of such blocks can not have more of them.
    #[inline(always)]
    pub(super) fn is_full(&mut self, number: usize) -> bool {
        self.bins().list.get(number).is_none_or(|bin| bin.blocks >= BIN_BLOCKS_MAX)
    }

    /// Whether a block that takes `total` bytes of the pool can be pushed, with `limit` bytes in all.
    #[inline(always)]
    pub(super) fn has_room(&mut self, total: usize, limit: usize) -> bool {
        total <= TOTAL_MAX && !self.is_full(bin_of(total)) && self.0.bytes() + total <= limit
    }

    /// Pushes a block.
    ///
    /// # Safety
    /// * Owned: it is a block of the cache's heap that takes `total` bytes of the pool, and nobody else's any more.
    /// * Room: [`Entered::has_room`] for it.
    #[inline(always)]
    pub(super) unsafe fn push(&mut self, block: NonNull<u8>, total: usize) {
        let number = bin_of(total);
        debug_assert!(!self.is_full(number));
        let bins = self.bins();
        let Some(bin) = bins.list.get_mut(number) else { return };
        // SAFETY: owned; a block has room for two words.
        unsafe {
            mark(block);
            next_of(block).write(bin.first);
        }
        compiler_fence(Ordering::SeqCst);
        bin.first = Some(block);
        bin.blocks += 1;
        bins.filled |= 1 << number;
        self.0.bytes.store(self.0.bytes() + total, Ordering::Relaxed);
        self.0.blocks.store(self.0.blocks() + 1, Ordering::Relaxed);
    }
}
