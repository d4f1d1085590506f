//! Small blocks that a thread has freed and keeps for itself, so that it need not take the lock for the next
//! ones of their sizes. For the pool they are handed out: nobody joins them with their neighbours. A cache lies
//! in a pool itself, and is the next thread's when its own is gone.
//!
//! ```text
//!   bin 0     blocks of 32 bytes with what they cost       a list, newest first, 32 blocks at most
//!   bin 1     of 48
//!   ..
//!   bin 63    of 1,040
//!   filled    bit n: bin n has a block
//! ```
//! Its thread alone works in it, and a signal handler that finds it at work does not ([`Entered`]). What is
//! written is written in such an order that whoever takes it over at any moment finds lists that hold; only
//! counts may be behind, and are made anew.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, compiler_fence};

use crate::tlsf::{GRANULE, TOTAL_MIN};

use super::mark::{keep, next_of, use_again};

/// The largest request that is served from a cache.
pub(super) const SIZE_MAX: usize = 1024;
/// What its block takes of the pool.
pub(super) const TOTAL_MAX: usize = SIZE_MAX + GRANULE;
/// Blocks of one size at most.
const BIN_BLOCKS_MAX: u32 = 32;
const BINS: usize = (TOTAL_MAX - TOTAL_MIN) / GRANULE + 1;

const _: () = assert!(BINS == u64::BITS as usize && TOTAL_MAX == 1040);

/// A cache.
pub(super) struct Cache {
    /// The number of its heap, and that of its thread; 0 when no thread has it.
    pub(super) heap: u64,
    pub(super) owner: AtomicU32,
    busy: AtomicBool,
    /// The cache that was made before this one.
    pub(super) next: *const Cache,
    /// What is in there; others read these for statistics.
    bytes: AtomicUsize,
    blocks: AtomicUsize,
    kept: UnsafeCell<Kept>,
}

struct Kept {
    filled: u64,
    /// Where the next block is taken that has to give way to others.
    turn: u32,
    bins: [Bin; BINS],
}

#[derive(Clone, Copy)]
struct Bin {
    first: Option<NonNull<u8>>,
    blocks: u32,
}

// SAFETY: `kept` is the owner's, while it is `Entered`; all else is atomic, or never changes once others see it.
unsafe impl Sync for Cache {}

/// What a thread has that is to have no cache: one of no heap.
pub(super) static NONE: Cache = Cache::new(u64::MAX, 0);

impl Cache {
    pub(super) const fn new(heap: u64, owner: u32) -> Cache {
        Cache {
            heap,
            owner: AtomicU32::new(owner),
            busy: AtomicBool::new(false),
            next: core::ptr::null(),
            bytes: AtomicUsize::new(0),
            blocks: AtomicUsize::new(0),
            kept: UnsafeCell::new(Kept { filled: 0, turn: 0, bins: [Bin { first: None, blocks: 0 }; BINS] }),
        }
    }

    /// Begins to work in it; `None` in a handler that interrupts such work.
    ///
    /// # Safety
    /// * The cache is this thread's.
    #[inline(always)]
    pub(super) unsafe fn enter(&self) -> Option<Entered<'_>> {
        if self.busy.load(Ordering::Relaxed) {
            return None;
        }
        self.busy.store(true, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        Some(Entered(self))
    }

    /// Puts what a thread has left that is gone in order.
    ///
    /// # Safety
    /// * The cache is this thread's, which is not at work in it.
    pub(super) unsafe fn revive(&self) {
        if !self.busy.load(Ordering::Relaxed) {
            return;
        }
        // SAFETY: nobody else's, by the caller's contract.
        let kept = unsafe { &mut *self.kept.get() };
        let (mut blocks, mut bytes) = (0, 0);
        kept.filled = 0;
        for (number, bin) in kept.bins.iter_mut().enumerate() {
            bin.blocks = 0;
            let mut at = bin.first;
            while let Some(block) = at {
                bin.blocks += 1;
                // SAFETY: a block in a list is the cache's, and its first word the next one.
                at = unsafe { next_of(block).read() };
            }
            kept.filled |= u64::from(bin.blocks > 0) << number;
            blocks += bin.blocks as usize;
            bytes += bin.blocks as usize * total_of(number);
        }
        self.blocks.store(blocks, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
        self.busy.store(false, Ordering::Relaxed);
    }

    /// Bytes and blocks in there.
    pub(super) fn holds(&self) -> (usize, usize) {
        (self.bytes.load(Ordering::Relaxed), self.blocks.load(Ordering::Relaxed))
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
pub(super) struct Entered<'a>(&'a Cache);

impl Drop for Entered<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.0.busy.store(false, Ordering::Relaxed);
    }
}

impl Entered<'_> {
    #[inline(always)]
    fn kept(&mut self) -> &mut Kept {
        // SAFETY: only who has entered looks, and there is one at a time: the thread itself.
        unsafe { &mut *self.0.kept.get() }
    }

    /// The newest block of a bin.
    #[inline(always)]
    pub(super) fn take(&mut self, number: usize) -> Option<NonNull<u8>> {
        let kept = self.kept();
        let bin = kept.bins.get_mut(number)?;
        let block = bin.first?;
        // SAFETY: a block in a list is the cache's, with room for two words.
        unsafe {
            bin.first = next_of(block).read();
            compiler_fence(Ordering::SeqCst);
            bin.blocks -= 1;
            kept.filled &= !(u64::from(bin.first.is_none()) << number);
            use_again(block);
        }
        let (bytes, blocks) = self.0.holds();
        self.0.bytes.store(bytes - total_of(number), Ordering::Relaxed);
        self.0.blocks.store(blocks - 1, Ordering::Relaxed);
        Some(block)
    }

    /// A block that has to give way, of another bin than that one.
    pub(super) fn evict(&mut self, but: Option<usize>) -> Option<NonNull<u8>> {
        let kept = self.kept();
        let filled = kept.filled & !but.map_or(0, |number| 1 << number);
        let ahead = filled & (u64::MAX << kept.turn);
        let number = if ahead != 0 { ahead } else { filled }.trailing_zeros();
        kept.turn = (number + 1) % u64::BITS;
        self.take(number as usize)
    }

    /// Whether the bin of such blocks can not have more of them.
    #[inline(always)]
    pub(super) fn is_full(&mut self, number: usize) -> bool {
        self.kept().bins.get(number).is_none_or(|bin| bin.blocks >= BIN_BLOCKS_MAX)
    }

    /// Whether a block that takes `total` bytes of the pool can be put in, with `limit` bytes in all.
    #[inline(always)]
    pub(super) fn has_room(&mut self, total: usize, limit: usize) -> bool {
        total <= TOTAL_MAX && !self.is_full(bin_of(total)) && self.0.holds().0 + total <= limit
    }

    /// Puts a block in.
    ///
    /// # Safety
    /// * It is a block of the cache's heap that takes `total` bytes of the pool, and nobody else's any more.
    /// * [`Entered::has_room`] for it.
    #[inline(always)]
    pub(super) unsafe fn put(&mut self, block: NonNull<u8>, total: usize) {
        let number = bin_of(total);
        let kept = self.kept();
        let Some(bin) = kept.bins.get_mut(number) else { return };
        // SAFETY: the caller's contract; a block has room for two words.
        unsafe {
            keep(block);
            next_of(block).write(bin.first);
        }
        compiler_fence(Ordering::SeqCst);
        bin.first = Some(block);
        bin.blocks += 1;
        kept.filled |= 1 << number;
        let (bytes, blocks) = self.0.holds();
        self.0.bytes.store(bytes + total, Ordering::Relaxed);
        self.0.blocks.store(blocks + 1, Ordering::Relaxed);
    }
}
