//! The calls of the pool heap.
#![allow(unsafe_code)]

use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use crate::heap::{Heap, Owns};
use crate::request::Request;
use crate::stats::Stats;
use crate::tlsf::Tlsf;

use super::tlsf_heap::TlsfHeap;

/// Bits of `TlsfHeap::forking`.
const LOCK: u32 = 1;
const GROWING: u32 = 2;

impl TlsfHeap {
    /// Makes the first pool now; `false` when there is no memory for it.
    pub fn start(&self) -> bool {
        if self.pools.load(Ordering::Acquire) > 0 {
            return true;
        }
        const SMALLEST: Option<Request> = Request::bytes(1);
        let Some(block) = SMALLEST.and_then(|request| self.grow(request, 0)) else { return false };
        // SAFETY: just allocated, and nobody else's.
        unsafe { self.free(block) };
        true
    }

    /// The counts with what lies in caches as free, and the caches themselves as no blocks.
    fn without_cached(&self, stats: Stats) -> Stats {
        let cached = self.caches.totals();
        let used_bytes = stats.used_bytes.saturating_sub(cached.bytes as u64);
        Stats {
            used_bytes,
            free_bytes: stats.pool_bytes.saturating_sub(used_bytes),
            blocks: stats.blocks.saturating_sub((cached.blocks + cached.caches) as u64),
            free_blocks: stats.free_blocks + cached.blocks as u64,
            misuses: stats.misuses + self.misuses.load(Ordering::Relaxed),
            ..stats
        }
    }
}

// SAFETY: blocks are those of `Tlsf`, which keeps them disjoint and aligned; all calls take the lock, and the
// only memory asked for is the source's.
unsafe impl Heap for TlsfHeap {
    #[inline]
    fn alloc(&self, request: Request) -> Option<NonNull<u8>> {
        let has_caches = self.caches.limit() != 0;
        if has_caches && let Some(block) = self.alloc_cached(request) {
            return Some(block);
        }
        let answer = self.alloc_from_pools(request)?;
        if answer.block.is_some() {
            return answer.block;
        }
        if (self.drain_deferred() | (has_caches && self.flush_caches()))
            && let Some(block) = self.alloc_from_pools(request)?.block
        {
            return Some(block);
        }
        let block = self.grow(request, answer.pools);
        if block.is_none() {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        block
    }

    #[inline]
    unsafe fn free(&self, block: NonNull<u8>) {
        // SAFETY: the block is this heap's and was not freed, by `Heap::free`.
        unsafe {
            if self.caches.limit() == 0 || !self.free_cached(block) {
                self.free_in_pool(block);
            }
        }
    }

    #[inline]
    unsafe fn usable_size(&self, block: NonNull<u8>) -> usize {
        // SAFETY: the block is this heap's and was not freed, by `Heap::usable_size`.
        unsafe { Tlsf::usable_size(block) }
    }

    unsafe fn realloc(&self, block: NonNull<u8>, request: Request) -> Option<NonNull<u8>> {
        // SAFETY: the block is this heap's and was not freed, by `Heap::realloc`. Nothing is to be done, and the
        // lock not needed to see that.
        if unsafe { Tlsf::is_as_large(block, request) } {
            return Some(block);
        }
        let usable = {
            let held = self.lock.lock().ok()?;
            // SAFETY: the block is this heap's and was not freed; the lock is held.
            unsafe {
                if (*self.tlsf_of(&held)).resize(block, request) {
                    return Some(block);
                }
                Tlsf::usable_size(block)
            }
        };
        // SAFETY: the block is this heap's and was not freed, and `usable` its usable size. Copied without the lock.
        unsafe { self.relocate(block, usable, request) }
    }

    fn owns(&self, address: *const u8) -> Owns {
        // SAFETY: it is a heap; pools are added and never removed, and the list of them is read while it grows.
        if unsafe { Tlsf::owns(self.tlsf_unlocked(), address as usize) } { Owns::Yes } else { Owns::No }
    }

    fn stats(&self) -> Stats {
        self.drain_deferred();
        let Ok(held) = self.lock.lock() else { return Stats::EMPTY };
        // SAFETY: the lock is held.
        let stats = unsafe { (*self.tlsf_of(&held)).stats() };
        drop(held);
        Stats {
            failures: self.failures.load(Ordering::Relaxed),
            growths: stats.pools.saturating_sub(1),
            locked_bytes: self.locked_bytes.load(Ordering::Relaxed),
            ..self.without_cached(stats)
        }
    }

    fn wants_thread_exit(&self) -> bool {
        self.caches.limit() > 0
    }

    fn fork_prepare(&self) {
        // A thread that forks in a handler of its own call holds them already; that call releases them.
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
                // SAFETY: this thread took it in `fork_prepare`, and forgot the `Held`.
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
        self.restart_caches();
    }

    fn thread_exit(&self) {
        self.release_cache();
    }
}
