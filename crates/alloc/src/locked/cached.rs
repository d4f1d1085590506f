//! The calls of the pool heap that a thread's cache serves, and how blocks come there from the pool and go back:
//! a few at a time under the lock.
#![allow(unsafe_code)]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::request::{ALIGN_MIN, Request};
use crate::tlsf::{Tlsf, total_for};

use super::cache::{Cache, Entered, NONE, SIZE_MAX, TOTAL_MAX, bin_of};
use super::heap::TlsfHeap;
use super::mark::is_kept;
use super::mutex::{Held, PiMutex};
use super::thread;

/// Blocks that are got or given back at a time.
const PORTION: usize = 4;

impl TlsfHeap {
    /// This thread's cache, unless a handler interrupted its work. A thread that has none gets one by `lock`.
    #[inline(always)]
    fn cache<'a>(&'a self, lock: impl FnOnce(&'a PiMutex) -> Option<Held<'a>>) -> Option<Entered<'a>> {
        // SAFETY: caches are never taken away, and a thread's word holds its own.
        match unsafe { thread::cache().as_ref() } {
            // SAFETY: this thread's.
            Some(cache) if cache.heap == self.caches.heap() => unsafe { cache.enter() },
            Some(_) => None,
            None => self.adopt(lock),
        }
    }

    /// Gives this thread a cache: one that is no thread's any more, or a new one.
    #[cold]
    fn adopt<'a>(&'a self, lock: impl FnOnce(&'a PiMutex) -> Option<Held<'a>>) -> Option<Entered<'a>> {
        if self.pools.load(Ordering::Acquire) == 0 {
            return None;
        }
        // No handler does the same meanwhile. Who finds no memory for a cache is not to ask again each time.
        thread::set_cache(&NONE);
        let cache = self.caches.take_over(thread::id()).or_else(|| self.make_cache(lock))?;
        thread::set_cache(cache);
        // SAFETY: this thread's.
        unsafe { cache.enter() }
    }

    fn make_cache<'a>(&'a self, lock: impl FnOnce(&'a PiMutex) -> Option<Held<'a>>) -> Option<&'a Cache> {
        const ROOM: Option<Request> = Request::new(size_of::<Cache>(), 64);
        let request = ROOM?;
        let new = Cache::new(self.caches.number_heap(), thread::id());
        let Some(held) = lock(&self.lock) else {
            // The next call makes it.
            thread::set_cache(core::ptr::null());
            return None;
        };
        // SAFETY: under the lock.
        let block = unsafe { (*self.tlsf_of(&held)).alloc(request) }?;
        drop(held);
        let cache = block.cast::<Cache>();
        // SAFETY: a block as large and as aligned, which is never freed.
        unsafe {
            cache.write(new);
            self.caches.add(cache);
            Some(&*cache.as_ptr())
        }
    }

    /// A small block of this thread's cache; `None` as well when the pool has to be asked in the usual way.
    #[inline(always)]
    pub(super) fn alloc_small(&self, request: Request) -> Option<NonNull<u8>> {
        if request.size_bytes() > SIZE_MAX || request.align_bytes() > ALIGN_MIN {
            return None;
        }
        let total = total_for(request.size_bytes());
        // It will wait for the lock in any case. One that is passed from waiter to waiter is never free.
        let mut cache = self.cache(|lock| lock.lock().ok())?;
        cache.take(bin_of(total)).or_else(|| self.refill(&mut cache, total, request))
    }

    /// A block of the pool, and some more of its size for the next calls. When the cache has as much as it may,
    /// blocks of other sizes give way.
    #[cold]
    fn refill(&self, cache: &mut Entered<'_>, total: usize, request: Request) -> Option<NonNull<u8>> {
        let limit = self.caches.limit();
        let held = self.lock.lock().ok()?;
        self.take_left(&held);
        // SAFETY: under the lock; what a cache gives is the heap's.
        unsafe {
            let tlsf = &mut *self.tlsf_of(&held);
            let block = tlsf.alloc(request)?;
            for _ in 1..PORTION {
                if !cache.has_room(total, limit) {
                    let Some(old) = cache.evict(Some(bin_of(total))) else { break };
                    tlsf.free(old);
                }
                let Some(spare) = tlsf.alloc(request) else { break };
                // It may have come with a rest that is too small for a block.
                let spare_total = Tlsf::total(spare);
                if !cache.has_room(spare_total, limit) {
                    tlsf.free(spare);
                    break;
                }
                cache.put(spare, spare_total);
            }
            Some(block)
        }
    }

    /// Whether this thread's cache took a block that is freed.
    ///
    /// # Safety
    /// * As for [`crate::Heap::free`].
    #[inline(always)]
    pub(super) unsafe fn free_small(&self, block: NonNull<u8>) -> bool {
        // SAFETY: the caller's contract.
        unsafe {
            let total = Tlsf::total(block);
            let limit = self.caches.limit();
            // One that is free in the pool is left to the pool, which counts that.
            if total > TOTAL_MAX.min(limit) || Tlsf::is_free(block) {
                return false;
            }
            if is_kept(block) {
                return count_misuse(&self.misuses);
            }
            let Some(mut cache) = self.cache(PiMutex::try_lock) else { return false };
            if !cache.has_room(total, limit) {
                return self.spill(&mut cache, block, total);
            }
            cache.put(block, total);
            true
        }
    }

    /// Gives some blocks back to the pool, so that another one can be kept, and that too when it cannot.
    #[cold]
    unsafe fn spill(&self, cache: &mut Entered<'_>, block: NonNull<u8>, total: usize) -> bool {
        let Some(held) = self.lock.try_lock() else { return false };
        let full = cache.is_full(bin_of(total)).then(|| bin_of(total));
        // SAFETY: under the lock; blocks of the heap, the caller's one and the cache's.
        unsafe {
            let tlsf = &mut *self.tlsf_of(&held);
            for _ in 0..PORTION {
                let old = match full {
                    Some(number) => cache.take(number),
                    None => cache.evict(None),
                };
                old.into_iter().for_each(|old| tlsf.free(old));
            }
            if cache.has_room(total, self.caches.limit()) {
                cache.put(block, total);
            } else {
                tlsf.free(block);
            }
        }
        true
    }

    /// Gives all that a cache has back to the pool, so many blocks at a time; whether there were any.
    fn empty(&self, cache: &mut Entered<'_>) -> bool {
        let mut were_any = false;
        while let Ok(held) = self.lock.lock() {
            for _ in 0..PORTION {
                let Some(block) = cache.evict(None) else { return were_any };
                // SAFETY: under the lock; the cache's block.
                unsafe { (*self.tlsf_of(&held)).free(block) };
                were_any = true;
            }
        }
        were_any
    }

    /// The pool is full: takes back what this thread's cache has, and those that are nobody's. Whether there was
    /// anything.
    #[cold]
    pub(super) fn recall(&self) -> bool {
        let mut were_any = self.cache(PiMutex::try_lock).is_some_and(|mut cache| self.empty(&mut cache));
        while let Some(cache) = self.caches.begin_emptying() {
            // SAFETY: ours while it is emptied.
            let had_any = unsafe { cache.enter() }.is_some_and(|mut cache| self.empty(&mut cache));
            cache.owner.store(0, Ordering::Release);
            if !had_any {
                break;
            }
            were_any = true;
        }
        were_any
    }

    /// This thread is about to end: what it kept is the pool's again, and its cache the next thread's.
    pub(super) fn leave_cache(&self) {
        let word = thread::cache();
        // SAFETY: caches are never taken away, and a thread's word holds its own.
        let Some(cache) = (unsafe { word.as_ref() }) else { return };
        if cache.heap == self.caches.heap() {
            // SAFETY: this thread's.
            let Some(mut entered) = (unsafe { cache.enter() }) else { return };
            self.empty(&mut entered);
            // Handlers have none from here on, until it is another thread's.
            thread::set_cache(&NONE);
            drop(entered);
            cache.owner.store(0, Ordering::Release);
        } else if !core::ptr::eq(word, &NONE) {
            return;
        }
        thread::set_cache(core::ptr::null());
    }

    /// In a forked child: its thread has another number than the one it is a copy of.
    pub(super) fn keep_cache(&self) {
        self.caches.restart();
        // SAFETY: caches are never taken away, and a thread's word holds its own.
        if let Some(cache) = unsafe { thread::cache().as_ref() }
            && cache.heap == self.caches.heap()
        {
            cache.owner.store(thread::id(), Ordering::Relaxed);
        }
    }
}

#[cold]
pub(super) fn count_misuse(misuses: &AtomicU64) -> bool {
    misuses.fetch_add(1, Ordering::Relaxed);
    debug_assert!(false, "a block was freed twice");
    true
}
