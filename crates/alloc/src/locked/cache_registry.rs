//! All caches of a heap: which thread owns each, which caches of ended threads are taken over, and what is in them.
#![allow(unsafe_code)]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::growth::Config;
use super::sys;
use super::thread_cache::ThreadCache;

/// Threads that the kernel is asked for at a time: whether they are still there.
const ASK_MAX: usize = 16;
/// In place of a thread's number: a thread flushes the cache. No thread has it.
const FLUSHED: u32 = u32::MAX;

/// The next heap's number. A thread knows by it whether its cache is of the heap it calls, also when another
/// heap stood at the same address before.
static NEXT_HEAP: AtomicU64 = AtomicU64::new(1);

/// What is in the caches of a heap.
#[derive(Clone, Copy, Default)]
pub(super) struct CachedTotals {
    pub(super) bytes: usize,
    pub(super) blocks: usize,
    pub(super) caches: usize,
}

#[derive(Debug)]
pub(super) struct CacheRegistry {
    /// Bytes of a cache at most; 0: there are none.
    limit: AtomicUsize,
    /// Caches at most, and those that were made: they stay.
    most: AtomicUsize,
    made: AtomicUsize,
    heap: AtomicU64,
    first: AtomicPtr<ThreadCache>,
    /// CacheRegistry looked at when the kernel was asked, of all times together.
    asked: AtomicUsize,
}

impl CacheRegistry {
    pub(super) const fn new(config: &Config) -> CacheRegistry {
        CacheRegistry {
            limit: AtomicUsize::new(config.cache_bytes),
            most: AtomicUsize::new(most_caches(config)),
            made: AtomicUsize::new(0),
            heap: AtomicU64::new(0),
            first: AtomicPtr::new(core::ptr::null_mut()),
            asked: AtomicUsize::new(0),
        }
    }

    #[inline(always)]
    pub(super) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    pub(super) fn configure(&self, config: &Config) {
        self.limit.store(config.cache_bytes, Ordering::Relaxed);
        self.most.store(most_caches(config), Ordering::Relaxed);
    }

    /// Whether one more cache may be made, which then counts as made.
    pub(super) fn reserve(&self) -> bool {
        let most = self.most.load(Ordering::Relaxed);
        let one_more = |made| (made < most).then_some(made + 1);
        self.made.try_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// A cache that was reserved is not made after all.
    pub(super) fn unreserve(&self) {
        self.made.fetch_sub(1, Ordering::Relaxed);
    }

    /// The heap's number, or 0 when it has no caches yet.
    #[inline(always)]
    pub(super) fn heap(&self) -> u64 {
        self.heap.load(Ordering::Relaxed)
    }

    /// The heap's number, which it gets now if it has none.
    pub(super) fn assign_heap(&self) -> u64 {
        if self.heap() == 0 {
            let number = NEXT_HEAP.fetch_add(1, Ordering::Relaxed);
            let _ = self.heap.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
        }
        self.heap()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &ThreadCache> {
        let mut at = self.first.load(Ordering::Acquire).cast_const();
        core::iter::from_fn(move || {
            // SAFETY: a cache that is in the list was written before, and stays.
            let cache = unsafe { at.as_ref() }?;
            at = cache.next;
            Some(cache)
        })
    }

    /// Adds a new cache.
    ///
    /// # Safety
    /// * Written: the cache is initialized.
    /// * Ours: its memory is nobody else's for as long as the heap is used.
    pub(super) unsafe fn add(&self, cache: NonNull<ThreadCache>) {
        let mut first = self.first.load(Ordering::Relaxed);
        loop {
            // SAFETY: written; ours: nobody else sees it yet.
            unsafe { (*cache.as_ptr()).next = first };
            match self.first.compare_exchange(first, cache.as_ptr(), Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => first = other,
            }
        }
    }

    /// A cache for thread `id` that was another one's. One of the same number is of a thread that has ended.
    pub(super) fn adopt(&self, id: u32) -> Option<&ThreadCache> {
        let is_mine = |cache: &&ThreadCache| {
            let owner = cache.owner.load(Ordering::Relaxed);
            owner == id || owner == 0 && change_owner(cache, 0, id)
        };
        let cache = self.all().find(is_mine).or_else(|| self.of_ended_threads(id, |_| true))?;
        // SAFETY: owned by this thread since now.
        unsafe { cache.repair() };
        Some(cache)
    }

    /// A cache that no thread owns and that has blocks, to be flushed and then released.
    pub(super) fn begin_flush(&self) -> Option<&ThreadCache> {
        let has_blocks = |cache: &ThreadCache| cache.blocks() > 0;
        let cache = self
            .all()
            .find(|cache| has_blocks(cache) && change_owner(cache, 0, FLUSHED))
            .or_else(|| self.of_ended_threads(FLUSHED, has_blocks))?;
        // SAFETY: owned by this thread since now, under the number of a cache that is flushed.
        unsafe { cache.repair() };
        Some(cache)
    }

    /// In a forked child: the thread that flushed a cache is not there.
    pub(super) fn restart(&self) {
        self.all().for_each(|cache| _ = change_owner(cache, FLUSHED, 0));
    }

    /// Asks the kernel for the owners of some caches, others each time.
    fn of_ended_threads(&self, id: u32, is_wanted: impl Fn(&ThreadCache) -> bool) -> Option<&ThreadCache> {
        let count = self.all().count();
        let begin = self.asked.fetch_add(ASK_MAX, Ordering::Relaxed) % count.max(1);
        let all = self.all().skip(begin).chain(self.all().take(begin));
        all.filter(|cache| is_wanted(cache)).take(ASK_MAX).find(|cache| {
            let owner = cache.owner.load(Ordering::Relaxed);
            owner != 0 && owner != FLUSHED && !sys::is_thread(owner) && change_owner(cache, owner, id)
        })
    }

    /// What is in all caches.
    pub(super) fn totals(&self) -> CachedTotals {
        self.all().fold(CachedTotals::default(), |sum, cache| CachedTotals {
            bytes: sum.bytes + cache.bytes(),
            blocks: sum.blocks + cache.blocks(),
            caches: sum.caches + 1,
        })
    }
}

/// How many caches there may be.
const fn most_caches(config: &Config) -> usize {
    match (config.cache_bytes, config.caches_bytes) {
        (0, _) | (_, 0) => usize::MAX,
        (one, all) => all / one,
    }
}

fn change_owner(cache: &ThreadCache, old: u32, new: u32) -> bool {
    let owner: &AtomicU32 = &cache.owner;
    owner.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}
