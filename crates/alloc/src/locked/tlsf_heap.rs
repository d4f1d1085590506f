//! The pool heap's state, and what holders of its lock do with it.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::request::Request;
use crate::tlsf::{Flaw, Tlsf, WalkedBlock};

use super::area::{AreaSource, from_kernel};
use super::cache_registry::CacheRegistry;
use super::deferred_free::DeferredFrees;
use super::freed_mark::was_freed;
use super::growth::{Config, Growth};
use super::mutex::{Held, PiMutex};

/// A heap of pools for all threads of a program.
///
/// ```text
///   growing ---> growth    the thread that asks the kernel for memory, one at a time, others go on meanwhile
///      \-------> lock ---> tlsf    a bounded number of steps at a time
///   pools    ---> counts the pools: a call that finds more than it saw when it failed tries again
///   deferred ---> blocks freed while another thread had the lock, or by a handler that interrupted its own thread
///   caches   ---> small blocks that a thread keeps, if the configuration wants that (`cached_calls`)
/// ```
///
/// What every call uses stands at the front, in as few cache lines as it needs; what only caches need does not
/// share a line with the lock.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct TlsfHeap {
    pub(super) lock: PiMutex,
    /// Which locks `fork_prepare` took: written and read while they are held.
    pub(super) forking: AtomicU32,
    deferred: DeferredFrees,
    tlsf: UnsafeCell<Tlsf>,
    pub(super) pools: AtomicU64,
    pub(super) caches: CacheRegistry,
    pub(super) failures: AtomicU64,
    /// Second frees of blocks that lie in caches, or are deferred.
    pub(super) misuses: AtomicU64,
    /// Of `growth`, for statistics: the thread that grows holds `growing` while the kernel works.
    pub(super) locked_bytes: AtomicU64,
    pub(super) growing: PiMutex,
    growth: UnsafeCell<Growth>,
    pub(super) source: AreaSource,
}

// SAFETY: `tlsf` is changed under `lock` only, `growth` under `growing`; what is read without is atomic.
unsafe impl Sync for TlsfHeap {}

/// What the pools have for a request.
pub(super) struct PoolsAnswer {
    pub(super) block: Option<NonNull<u8>>,
    /// How many pools there were.
    pub(super) pools: u64,
}

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
            caches: CacheRegistry::new(&config),
            misuses: AtomicU64::new(0),
            deferred: DeferredFrees::new(),
            failures: AtomicU64::new(0),
            locked_bytes: AtomicU64::new(0),
            forking: AtomicU32::new(0),
            source,
        }
    }

    /// Another configuration, as read from an environment; `false` when there is a pool already.
    pub fn configure(&self, config: Config) -> bool {
        let Ok(growing) = self.growing.lock() else { return false };
        // SAFETY: `growing` is held.
        let growth = unsafe { &mut *self.growth_of(&growing) };
        let is_new = !growth.has_started;
        if is_new {
            *growth = Growth::new(config);
            self.caches.configure(&config);
        }
        is_new
    }

    /// Where the address of its newest pool stands.
    pub fn pools_address(&self) -> usize {
        Tlsf::pools_address(self.tlsf_unlocked())
    }

    /// Checks that the heap's headers, lists and counts agree. Holds the lock for as long as there are blocks: for
    /// tests.
    pub fn check(&self) -> Result<(), Flaw> {
        self.drain_deferred();
        match self.lock.lock() {
            // SAFETY: the lock is held.
            Ok(held) => unsafe { (*self.tlsf_of(&held)).check() },
            Err(_) => Ok(()),
        }
    }

    /// Visits every block, holding the lock for as long as there are any: for tests and reports.
    pub fn walk(&self, visit: impl FnMut(WalkedBlock)) {
        self.drain_deferred();
        if let Ok(held) = self.lock.lock() {
            // SAFETY: the lock is held.
            unsafe { (*self.tlsf_of(&held)).walk(visit) };
        }
    }

    /// The heap, for a holder of `lock`.
    #[inline(always)]
    pub(super) fn tlsf_of(&self, _lock: &Held<'_>) -> *mut Tlsf {
        self.tlsf.get()
    }

    /// The heap, for what may be read without the lock.
    pub(super) fn tlsf_unlocked(&self) -> *const Tlsf {
        self.tlsf.get()
    }

    /// How the heap grows, for a holder of `growing`.
    pub(super) fn growth_of(&self, _growing: &Held<'_>) -> *mut Growth {
        self.growth.get()
    }

    /// Allocates from the pools; `None` in a handler that has interrupted its own thread's call.
    #[inline(always)]
    pub(super) fn alloc_from_pools(&self, request: Request) -> Option<PoolsAnswer> {
        let held = self.lock.lock().ok()?;
        self.free_one_deferred(&held);
        // SAFETY: the lock is held.
        let block = unsafe { (*self.tlsf_of(&held)).alloc(request) };
        Some(PoolsAnswer { block, pools: self.pools.load(Ordering::Acquire) })
    }

    /// Frees a block whose free was deferred. One with each call that has the lock: bounded, as all that it does, and
    /// enough. A program that allocates a block for each that it frees never has more of them deferred than threads.
    #[inline(always)]
    pub(super) fn free_one_deferred(&self, held: &Held<'_>) {
        if !self.deferred.is_empty() {
            self.pop_and_free(held);
        }
    }

    #[cold]
    fn pop_and_free(&self, held: &Held<'_>) {
        // SAFETY: the lock is held; the program freed the block, so that it is ours.
        unsafe {
            if let Some(block) = self.deferred.pop() {
                (*self.tlsf_of(held)).free(block);
            }
        }
    }

    /// Frees all deferred blocks, taking the lock for each; whether there were any. For calls that need the memory,
    /// or the counts.
    #[cold]
    pub(super) fn drain_deferred(&self) -> bool {
        let mut were_any = false;
        while !self.deferred.is_empty()
            && let Ok(held) = self.lock.lock()
        {
            self.pop_and_free(&held);
            were_any = true;
        }
        were_any
    }

    /// Frees a block in its pool, or defers that when another thread has the lock.
    ///
    /// # Safety
    /// * Used: the block was allocated by this heap and was not freed.
    #[inline(always)]
    pub(super) unsafe fn free_in_pool(&self, block: NonNull<u8>) {
        // SAFETY: used. The words come before the lock is taken, not while it is held.
        unsafe { Tlsf::prefetch(block) };
        // SAFETY: used; the heap is changed while the lock is held.
        unsafe {
            match self.lock.try_lock() {
                Some(held) if self.deferred.is_empty() => (*self.tlsf_of(&held)).free(block),
                Some(held) => self.free_with_deferred(&held, block),
                None => self.defer(block),
            }
        }
    }

    /// Frees a block without the lock.
    ///
    /// # Safety
    /// * Used: as for [`TlsfHeap::free_in_pool`].
    #[cold]
    unsafe fn defer(&self, block: NonNull<u8>) {
        // SAFETY: used, and from now on the list's.
        if !unsafe { self.deferred.push(block) } {
            self.count_double_free();
        }
    }

    /// Frees a block under the lock while others are deferred; one that is deferred itself is freed twice.
    ///
    /// # Safety
    /// * Used: as for [`TlsfHeap::free_in_pool`].
    #[cold]
    unsafe fn free_with_deferred(&self, held: &Held<'_>, block: NonNull<u8>) {
        self.pop_and_free(held);
        // SAFETY: used; the lock is held.
        unsafe {
            if was_freed(block) {
                self.count_double_free();
            } else {
                (*self.tlsf_of(held)).free(block);
            }
        }
    }

    /// Counts a block that was freed twice and is left alone; a debug build ends the program.
    #[cold]
    pub(super) fn count_double_free(&self) {
        self.misuses.fetch_add(1, Ordering::Relaxed);
        debug_assert!(false, "a block was freed twice");
    }
}
