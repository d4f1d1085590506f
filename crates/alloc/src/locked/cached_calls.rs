//! The calls of the pool heap that a thread's cache serves, and how the cache is refilled from the pool and flushed to
//! it: a few blocks at a time under the lock.
#![allow(unsafe_code)]

use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use crate::request::{ALIGN_MIN, Request};
use crate::tlsf::{Tlsf, total_for};

use super::freed_mark::is_marked;
use super::mutex::{Held, PiMutex};
use super::thread_cache::{Entered, NO_CACHE, SIZE_MAX, TOTAL_MAX, ThreadCache, bin_of};
use super::thread_words;
use super::tlsf_heap::TlsfHeap;

/// Blocks that are allocated from the pool or freed there at a time.
const BATCH: usize = 4;

impl TlsfHeap {
    /// This thread's cache, unless a handler interrupted its work. A thread that has none gets one by `lock`.
    #[inline(always)]
    fn cache<'a>(&'a self, lock: impl FnOnce(&'a PiMutex) -> Option<Held<'a>>) -> Option<Entered<'a>> {
        // SAFETY: caches stay for ever, and a thread's word holds its own.
        match unsafe { thread_words::cache().as_ref() } {
            // SAFETY: owned by this thread.
            Some(cache) if cache.heap == self.caches.heap() => unsafe { cache.enter() },
            Some(_) => None,
            None => self.adopt(lock),
        }
    }

    /// Gives this thread a cache: one that no thread owns any more, or a new one.
    #[cold]
    fn adopt<'a>(&'a self, lock: impl FnOnce(&'a PiMutex) -> Option<Held<'a>>) -> Option<Entered<'a>> {
        if self.pools.load(Ordering::Acquire) == 0 {
            return None;
        }
        // No handler does the same meanwhile. A thread for which there is no memory does not try again each time.
        thread_words::set_cache(&NO_CACHE);
        let cache = self.caches.adopt(thread_words::id()).or_else(|| self.make_cache(lock))?;
        thread_words::set_cache(cache);
        // SAFETY: owned by this thread.
        unsafe { cache.enter() }
    }

    fn make_cache<'a>(
        &'a self,
        lock: impl FnOnce(&'a PiMutex) -> Option<Held<'a>>,
    ) -> Option<&'a ThreadCache> {
        const ROOM: Option<Request> = Request::new(size_of::<ThreadCache>(), 64);
        let request = ROOM.filter(|_| self.caches.reserve())?;
        let Some(held) = lock(&self.lock) else {
            // The next call makes it.
            self.caches.unreserve();
            thread_words::set_cache(core::ptr::null());
            return None;
        };
        // SAFETY: the lock is held.
        let block = unsafe { (*self.tlsf_of(&held)).alloc(request) };
        drop(held);
        let Some(block) = block else {
            self.caches.unreserve();
            return None;
        };
        let cache = block.cast::<ThreadCache>();
        // SAFETY: a block as large and as aligned, which is written here and never freed.
        unsafe {
            ThreadCache::write_new(cache, self.caches.assign_heap(), thread_words::id());
            self.caches.add(cache);
            Some(&*cache.as_ptr())
        }
    }

    /// Allocates a small block from this thread's cache; `None` as well when the pools have to be asked.
    #[inline(always)]
    pub(super) fn alloc_cached(&self, request: Request) -> Option<NonNull<u8>> {
        if request.size_bytes() > SIZE_MAX || request.align_bytes() > ALIGN_MIN {
            return None;
        }
        let total = total_for(request.size_bytes());
        // It will wait for the lock in any case. One that is passed from waiter to waiter is never free.
        let mut cache = self.cache(|lock| lock.lock().ok())?;
        cache.pop(bin_of(total)).or_else(|| self.refill(&mut cache, total, request))
    }

    /// Allocates a block from the pool, and some more of its size for the next calls. When the cache is full,
    /// blocks of other sizes are evicted.
    #[cold]
    fn refill(&self, cache: &mut Entered<'_>, total: usize, request: Request) -> Option<NonNull<u8>> {
        let limit = self.caches.limit();
        let held = self.lock.lock().ok()?;
        self.free_one_deferred(&held);
        // SAFETY: the lock is held; what a cache evicts is a used block of the heap.
        unsafe {
            let tlsf = &mut *self.tlsf_of(&held);
            let block = tlsf.alloc(request)?;
            for _ in 1..BATCH {
                if !cache.has_room(total, limit) {
                    let Some(old) = cache.evict(Some(bin_of(total))) else { break };
                    tlsf.free(old);
                }
                let Some(spare) = tlsf.alloc(request) else { break };
                // It may be larger by a rest that is too small for a block.
                let spare_total = Tlsf::total(spare);
                if !cache.has_room(spare_total, limit) {
                    tlsf.free(spare);
                    break;
                }
                cache.push(spare, spare_total);
            }
            Some(block)
        }
    }

    /// Frees a block into this thread's cache; `false` when the pool has to free it.
    ///
    /// # Safety
    /// * Used: the block was allocated by this heap and was not freed.
    #[inline(always)]
    pub(super) unsafe fn free_cached(&self, block: NonNull<u8>) -> bool {
        // SAFETY: used; one that was freed all the same still is a block of a pool.
        unsafe {
            let total = Tlsf::total(block);
            let limit = self.caches.limit();
            // One that is free in the pool is left to the pool, which counts that.
            if total > TOTAL_MAX.min(limit) || Tlsf::is_free(block) {
                return false;
            }
            if is_marked(block) {
                self.count_double_free();
                return true;
            }
            let Some(mut cache) = self.cache(PiMutex::try_lock) else { return false };
            if !cache.has_room(total, limit) {
                return self.spill(&mut cache, block, total);
            }
            cache.push(block, total);
            true
        }
    }

    /// Frees some blocks of a full cache in the pool, so that another one can be cached, and that too when it cannot.
    ///
    /// # Safety
    /// * Used: as for [`TlsfHeap::free_cached`]; the block takes `total` bytes of the pool.
    #[cold]
    unsafe fn spill(&self, cache: &mut Entered<'_>, block: NonNull<u8>, total: usize) -> bool {
        let Some(held) = self.lock.try_lock() else { return false };
        let full = cache.is_full(bin_of(total)).then(|| bin_of(total));
        // SAFETY: used; the lock is held, and what the cache pops is a used block of the heap.
        unsafe {
            let tlsf = &mut *self.tlsf_of(&held);
            for _ in 0..BATCH {
                let old = match full {
                    Some(number) => cache.pop(number),
                    None => cache.evict(None),
                };
                old.into_iter().for_each(|old| tlsf.free(old));
            }
            if cache.has_room(total, self.caches.limit()) {
                cache.push(block, total);
            } else {
                tlsf.free(block);
            }
        }
        true
    }

    /// Frees all that a cache has in the pool, a batch at a time; whether there was anything.
    fn flush(&self, cache: &mut Entered<'_>) -> bool {
        let mut were_any = false;
        while let Ok(held) = self.lock.lock() {
            for _ in 0..BATCH {
                let Some(block) = cache.evict(None) else { return were_any };
                // SAFETY: the lock is held; what the cache evicts is a used block of the heap.
                unsafe { (*self.tlsf_of(&held)).free(block) };
                were_any = true;
            }
        }
        were_any
    }

    /// The pool is full: flushes this thread's cache, and those that no thread owns. Whether there was anything.
    #[cold]
    pub(super) fn flush_caches(&self) -> bool {
        let mut were_any = self.cache(PiMutex::try_lock).is_some_and(|mut cache| self.flush(&mut cache));
        while let Some(cache) = self.caches.begin_flush() {
            // SAFETY: owned by this thread while it is flushed.
            let had_any = unsafe { cache.enter() }.is_some_and(|mut cache| self.flush(&mut cache));
            cache.owner.store(0, Ordering::Release);
            if !had_any {
                break;
            }
            were_any = true;
        }
        were_any
    }

    /// This thread is about to end: its cache is flushed, and released for another thread.
    pub(super) fn release_cache(&self) {
        let word = thread_words::cache();
        // SAFETY: caches stay for ever, and a thread's word holds its own.
        let Some(cache) = (unsafe { word.as_ref() }) else { return };
        if cache.heap == self.caches.heap() {
            // SAFETY: owned by this thread.
            let Some(mut entered) = (unsafe { cache.enter() }) else { return };
            self.flush(&mut entered);
            // Handlers have none from here on, until it is another thread's.
            thread_words::set_cache(&NO_CACHE);
            drop(entered);
            cache.owner.store(0, Ordering::Release);
        } else if !core::ptr::eq(word, &NO_CACHE) {
            return;
        }
        thread_words::set_cache(core::ptr::null());
    }

    /// In a forked child: its thread has another number than the one it is a copy of.
    pub(super) fn restart_caches(&self) {
        self.caches.restart();
        // SAFETY: caches stay for ever, and a thread's word holds its own.
        if let Some(cache) = unsafe { thread_words::cache().as_ref() }
            && cache.heap == self.caches.heap()
        {
            cache.owner.store(thread_words::id(), Ordering::Relaxed);
        }
    }
}
