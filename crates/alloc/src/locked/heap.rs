//! The calls of the pool heap.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::heap::{Heap, Owns};
use crate::request::Request;
use crate::stats::Stats;
use crate::tlsf::{Tlsf, pool_bytes_for};

use super::area::{AreaSource, from_kernel};
use super::cached::count_misuse;
use super::caches::Caches;
use super::growth::{Config, Growth};
use super::left::Left;
use super::mark::was_freed;
use super::mutex::{Held, PiMutex};

/// A heap of pools for all threads of a program.
///
/// ```text
///   growing ---> growth    who asks the kernel for memory, one at a time, others go on meanwhile
///      \-------> lock ---> tlsf    a bounded number of steps at a time
///   pools ---> counts the pools: whoever finds more than he saw when he failed tries again
///   left  ---> blocks freed while another had the lock, or by a handler that interrupted its own thread
///   caches --> small blocks that a thread keeps, if the configuration wants that (see `cached`)
/// ```
///
/// What every call uses stands at the front, in as few cache lines as it needs; what only caches need does not
/// share a line with the lock.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct TlsfHeap {
    pub(super) lock: PiMutex,
    /// Which locks `fork_prepare` took: written and read while they are held.
    forking: AtomicU32,
    left: Left,
    tlsf: UnsafeCell<Tlsf>,
    pub(super) pools: AtomicU64,
    pub(super) caches: Caches,
    failures: AtomicU64,
    /// Second frees of blocks that lie in caches, or were left.
    pub(super) misuses: AtomicU64,
    /// Of `growth`, for those who only want to know: who grows holds `growing` while the kernel works.
    locked_bytes: AtomicU64,
    growing: PiMutex,
    growth: UnsafeCell<Growth>,
    source: AreaSource,
}

const LOCK: u32 = 1;
const GROWING: u32 = 2;

// SAFETY: `tlsf` is changed under `lock` only, `growth` under `growing`; what is read without is atomic.
unsafe impl Sync for TlsfHeap {}

impl TlsfHeap {
    /// A heap that gets its first pool when it is first used, or by [`TlsfHeap::start`].
    pub const fn new(config: Config) -> TlsfHeap {
        TlsfHeap::with_source(config, from_kernel)
    }

    /// The same with memory from elsewhere.
    pub const fn with_source(config: Config, source: AreaSource) -> TlsfHeap {
        TlsfHeap {
            lock: PiMutex::new(),
            tlsf: UnsafeCell::new(Tlsf::new()),
            growing: PiMutex::new(),
            growth: UnsafeCell::new(Growth::new(config)),
            pools: AtomicU64::new(0),
            caches: Caches::new(config.cache_bytes),
            misuses: AtomicU64::new(0),
            left: Left::new(),
            failures: AtomicU64::new(0),
            locked_bytes: AtomicU64::new(0),
            forking: AtomicU32::new(0),
            source,
        }
    }

    /// Another configuration, as read from an environment; `false` when there is a pool already.
    pub fn configure(&self, config: Config) -> bool {
        let Ok(_growing) = self.growing.lock() else { return false };
        // SAFETY: under `growing`.
        let growth = unsafe { &mut *self.growth.get() };
        let is_new = !growth.has_started;
        if is_new {
            *growth = Growth::new(config);
            self.caches.set_limit(config.cache_bytes);
        }
        is_new
    }

    /// Makes the first pool now; `false` when there is no memory for it.
    pub fn start(&self) -> bool {
        if self.pools.load(Ordering::Acquire) > 0 {
            return true;
        }
        const SMALLEST: Option<Request> = Request::bytes(1);
        let Some(block) = SMALLEST.and_then(|request| self.grow(request, 0)) else { return false };
        // SAFETY: just handed out.
        unsafe { self.free(block) };
        true
    }

    /// Whether all that the heap's blocks and lists say of each other is true. Holds the lock for as long as
    /// there are blocks: for tests.
    pub fn check(&self) -> Result<(), crate::tlsf::Flaw> {
        self.take_all_left();
        match self.lock.lock() {
            // SAFETY: under the lock.
            Ok(held) => unsafe { (*self.tlsf_of(&held)).check() },
            Err(_) => Ok(()),
        }
    }

    /// Visits every block, holding the lock for as long as there are any: for tests and reports.
    pub fn walk(&self, visit: impl FnMut(crate::tlsf::Piece)) {
        self.take_all_left();
        if let Ok(held) = self.lock.lock() {
            // SAFETY: under the lock.
            unsafe { (*self.tlsf_of(&held)).walk(visit) };
        }
    }

    /// The counts with what lies in caches as free, and the caches themselves as no blocks.
    fn without_kept(&self, stats: Stats) -> Stats {
        let (bytes, blocks, caches) = self.caches.hold();
        let used_bytes = stats.used_bytes.saturating_sub(bytes as u64);
        Stats {
            used_bytes,
            free_bytes: stats.pool_bytes.saturating_sub(used_bytes),
            blocks: stats.blocks.saturating_sub((blocks + caches) as u64),
            free_blocks: stats.free_blocks + blocks as u64,
            misuses: stats.misuses + self.misuses.load(Ordering::Relaxed),
            ..stats
        }
    }

    /// The heap of a holder of the lock.
    #[inline(always)]
    pub(super) fn tlsf_of(&self, _held: &Held<'_>) -> *mut Tlsf {
        self.tlsf.get()
    }

    /// A block of the pools, or how many of them have none.
    #[inline(always)]
    fn alloc_of_pools(&self, request: Request) -> Option<(Option<NonNull<u8>>, u64)> {
        let held = self.lock.lock().ok()?;
        self.take_left(&held);
        // SAFETY: under the lock.
        let block = unsafe { (*self.tlsf_of(&held)).alloc(request) };
        Some((block, self.pools.load(Ordering::Acquire)))
    }

    /// Takes a block back that was left. One with each call that has the lock: bounded, as all that it does, and
    /// enough. A program that gets a block for each that it frees never has more of them left than threads.
    #[inline(always)]
    pub(super) fn take_left(&self, held: &Held<'_>) {
        if !self.left.is_empty() {
            self.take_one_left(held);
        }
    }

    #[cold]
    fn take_one_left(&self, held: &Held<'_>) {
        if let Some(block) = self.left.take() {
            // SAFETY: freed by the program, kept by us; under the lock.
            unsafe { (*self.tlsf_of(held)).free(block) };
        }
    }

    /// Takes back all that was left, a block at a time; whether there were any. For who needs the memory, or
    /// wants to know how much there is.
    #[cold]
    fn take_all_left(&self) -> bool {
        let mut were_any = false;
        while !self.left.is_empty()
            && let Ok(held) = self.lock.lock()
        {
            self.take_one_left(&held);
            were_any = true;
        }
        were_any
    }

    /// Frees a block without the lock.
    ///
    /// # Safety
    /// * As for [`Heap::free`].
    #[cold]
    unsafe fn leave(&self, block: NonNull<u8>) {
        // SAFETY: the caller's contract.
        if !unsafe { self.left.put(block) } {
            count_misuse(&self.misuses);
        }
    }

    /// Frees a block under the lock while others are left; one that was left itself is freed for the second time.
    ///
    /// # Safety
    /// * As for [`Heap::free`].
    #[cold]
    unsafe fn free_beside_left(&self, held: &Held<'_>, block: NonNull<u8>) {
        self.take_one_left(held);
        // SAFETY: the caller's contract; under the lock.
        unsafe {
            if was_freed(block) {
                count_misuse(&self.misuses);
            } else {
                (*self.tlsf_of(held)).free(block);
            }
        }
    }

    /// Adds a pool for a request that failed when there were `seen` pools, and serves it from there before
    /// anybody else gets it. Others are served meanwhile: only `growing` is held while the kernel works.
    #[cold]
    fn grow(&self, request: Request, seen: u64) -> Option<NonNull<u8>> {
        let needed = pool_bytes_for(request)?;
        let _growing = self.growing.lock().ok()?;
        if self.pools.load(Ordering::Acquire) != seen {
            let held = self.lock.lock().ok()?;
            // SAFETY: under the lock.
            let block = unsafe { (*self.tlsf_of(&held)).alloc(request) };
            if block.is_some() {
                return block;
            }
        }
        // SAFETY: under `growing`.
        let growth = unsafe { &mut *self.growth.get() };
        let plan = growth.plan(needed)?;
        let wishes = growth.config.wishes;
        let area = growth.sizes(plan).find_map(|bytes| (self.source)(bytes, wishes))?;
        let held = self.lock.lock().ok()?;
        // SAFETY: under the lock; the area is nobody else's for ever.
        let (is_pool, block) = unsafe {
            let tlsf = &mut *self.tlsf_of(&held);
            (tlsf.add_pool(area.base, area.len_bytes), tlsf.alloc(request))
        };
        drop(held);
        if is_pool {
            growth.came(plan, area.len_bytes, area.is_locked);
            self.locked_bytes.store(growth.locked_bytes, Ordering::Relaxed);
            self.pools.fetch_add(1, Ordering::Release);
        }
        block
    }
}

// SAFETY: blocks are those of `Tlsf`, which keeps them apart and aligned; all calls take the lock, and the
// only memory asked for is the source's.
unsafe impl Heap for TlsfHeap {
    #[inline]
    fn alloc(&self, request: Request) -> Option<NonNull<u8>> {
        let has_caches = self.caches.limit() != 0;
        if has_caches && let Some(block) = self.alloc_small(request) {
            return Some(block);
        }
        let (block, seen) = self.alloc_of_pools(request)?;
        if block.is_some() {
            return block;
        }
        if (self.take_all_left() | (has_caches && self.recall()))
            && let (Some(block), _) = self.alloc_of_pools(request)?
        {
            return Some(block);
        }
        let block = self.grow(request, seen);
        if block.is_none() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        block
    }

    #[inline]
    unsafe fn free(&self, block: NonNull<u8>) {
        // SAFETY: the caller's contract.
        if self.caches.limit() != 0 && unsafe { self.free_small(block) } {
            return;
        }
        // SAFETY: the caller's contract. The words come before the lock is taken, not while it is held.
        unsafe { Tlsf::fetch(block) };
        // SAFETY: the caller's contract; the heap under the lock.
        unsafe {
            match self.lock.try_lock() {
                Some(held) if self.left.is_empty() => (*self.tlsf_of(&held)).free(block),
                Some(held) => self.free_beside_left(&held, block),
                None => self.leave(block),
            }
        }
    }

    #[inline]
    unsafe fn usable_size(&self, block: NonNull<u8>) -> usize {
        // SAFETY: the caller's contract.
        unsafe { Tlsf::usable_size(block) }
    }

    unsafe fn realloc(&self, block: NonNull<u8>, request: Request) -> Option<NonNull<u8>> {
        // SAFETY: the caller's contract. Nothing is to be done, and the lock not needed to see that.
        if unsafe { Tlsf::is_as_large(block, request) } {
            return Some(block);
        }
        let usable = {
            let held = self.lock.lock().ok()?;
            // SAFETY: the caller's contract; under the lock.
            unsafe {
                if (*self.tlsf_of(&held)).resize(block, request) {
                    return Some(block);
                }
                Tlsf::usable_size(block)
            }
        };
        // SAFETY: the caller's contract. Copied without the lock.
        unsafe { self.relocate(block, usable, request) }
    }

    fn owns(&self, address: *const u8) -> Owns {
        // SAFETY: pools are added and never taken away; the list of them is read while it grows.
        if unsafe { Tlsf::owns(self.tlsf.get(), address as usize) } { Owns::Yes } else { Owns::No }
    }

    fn stats(&self) -> Stats {
        self.take_all_left();
        let Ok(held) = self.lock.lock() else { return Stats::EMPTY };
        // SAFETY: under the lock.
        let stats = unsafe { (*self.tlsf_of(&held)).stats() };
        drop(held);
        Stats {
            failures: self.failures.load(Ordering::Relaxed),
            growths: stats.pools.saturating_sub(1),
            locked_bytes: self.locked_bytes.load(Ordering::Relaxed),
            ..self.without_kept(stats)
        }
    }

    fn wants_thread_exit(&self) -> bool {
        self.caches.limit() > 0
    }

    fn fork_prepare(&self) {
        // A thread that forks in a handler of its own call holds them already; that call gives them back.
        let mut taken = 0;
        for (bit, mutex) in [(GROWING, &self.growing), (LOCK, &self.lock)] {
            if let Ok(held) = mutex.lock() {
                core::mem::forget(held);
                taken |= bit;
            }
        }
        self.forking.store(taken, Ordering::Relaxed);
    }

    unsafe fn fork_parent(&self) {
        let taken = self.forking.load(Ordering::Relaxed);
        for (bit, mutex) in [(LOCK, &self.lock), (GROWING, &self.growing)] {
            if taken & bit != 0 {
                // SAFETY: `fork_prepare` took it in this thread.
                unsafe { mutex.unlock() };
            }
        }
    }

    unsafe fn fork_child(&self) {
        let taken = self.forking.load(Ordering::Relaxed);
        for (bit, mutex) in [(LOCK, &self.lock), (GROWING, &self.growing)] {
            // SAFETY: a forked child has one thread.
            unsafe { mutex.restart(taken & bit != 0) };
        }
        self.keep_cache();
    }

    fn thread_exit(&self) {
        self.leave_cache();
    }
}
