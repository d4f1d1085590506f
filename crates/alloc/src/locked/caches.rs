//! All caches of a heap: whose they are, who takes over what a thread left that is gone, and what lies in them.
#![allow(unsafe_code)]

use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::cache::Cache;
use super::sys;

/// Threads that the kernel is asked for at a time: whether they are still there.
const ASK_MAX: usize = 16;
/// In place of a thread's number: somebody empties the cache. No thread has it.
const EMPTIED: u32 = u32::MAX;

/// The next heap's number. A thread knows by it whether its cache is of the heap it calls, also when another
/// heap stood at the same address before.
static NEXT_HEAP: AtomicU64 = AtomicU64::new(1);

#[derive(Debug)]
pub(super) struct Caches {
    /// Bytes of a cache at most; 0: there are none.
    limit: AtomicUsize,
    heap: AtomicU64,
    first: AtomicPtr<Cache>,
    /// Caches looked at when the kernel was asked, of all times together.
    asked: AtomicUsize,
}

impl Caches {
    pub(super) const fn new(limit: usize) -> Caches {
        Caches {
            limit: AtomicUsize::new(limit),
            heap: AtomicU64::new(0),
            first: AtomicPtr::new(core::ptr::null_mut()),
            asked: AtomicUsize::new(0),
        }
    }

    #[inline(always)]
    pub(super) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    pub(super) fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// The heap's number, or 0 when it has no caches yet.
    #[inline(always)]
    pub(super) fn heap(&self) -> u64 {
        self.heap.load(Ordering::Relaxed)
    }

    /// The heap's number.
    pub(super) fn number_heap(&self) -> u64 {
        if self.heap() == 0 {
            let number = NEXT_HEAP.fetch_add(1, Ordering::Relaxed);
            let _ = self.heap.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
        }
        self.heap()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Cache> {
        let mut at = self.first.load(Ordering::Acquire).cast_const();
        core::iter::from_fn(move || {
            // SAFETY: a cache that is in the list was written before, and stays.
            let cache = unsafe { at.as_ref() }?;
            at = cache.next;
            Some(cache)
        })
    }

    /// Puts a new cache into the list.
    ///
    /// # Safety
    /// * It is written, and its memory is nobody else's for as long as the heap is used.
    pub(super) unsafe fn add(&self, cache: NonNull<Cache>) {
        let mut first = self.first.load(Ordering::Relaxed);
        loop {
            // SAFETY: the caller's contract; nobody else sees it yet.
            unsafe { (*cache.as_ptr()).next = first };
            match self.first.compare_exchange(first, cache.as_ptr(), Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => first = other,
            }
        }
    }

    /// A cache for thread `id` that was another one's. One of the same number is of a thread that is gone.
    pub(super) fn take_over(&self, id: u32) -> Option<&Cache> {
        let is_mine = |cache: &&Cache| {
            let owner = cache.owner.load(Ordering::Relaxed);
            owner == id || owner == 0 && become_owner(cache, 0, id)
        };
        let cache = self.all().find(is_mine).or_else(|| self.of_the_dead(id, |_| true))?;
        // SAFETY: this thread's since now.
        unsafe { cache.revive() };
        Some(cache)
    }

    /// A cache that nobody has and that has blocks, to be emptied and then let go.
    pub(super) fn begin_emptying(&self) -> Option<&Cache> {
        let has_blocks = |cache: &Cache| cache.holds().1 > 0;
        let cache = self
            .all()
            .find(|cache| has_blocks(cache) && become_owner(cache, 0, EMPTIED))
            .or_else(|| self.of_the_dead(EMPTIED, has_blocks))?;
        // SAFETY: nobody's but ours since now.
        unsafe { cache.revive() };
        Some(cache)
    }

    /// In a forked child: the thread that emptied a cache is not there.
    pub(super) fn restart(&self) {
        self.all().for_each(|cache| _ = become_owner(cache, EMPTIED, 0));
    }

    /// Asks the kernel for the owners of some caches, others each time.
    fn of_the_dead(&self, id: u32, is_wanted: impl Fn(&Cache) -> bool) -> Option<&Cache> {
        let count = self.all().count();
        let begin = self.asked.fetch_add(ASK_MAX, Ordering::Relaxed) % count.max(1);
        let all = self.all().skip(begin).chain(self.all().take(begin));
        all.filter(|cache| is_wanted(cache)).take(ASK_MAX).find(|cache| {
            let owner = cache.owner.load(Ordering::Relaxed);
            owner != 0 && owner != EMPTIED && !sys::is_thread(owner) && become_owner(cache, owner, id)
        })
    }

    /// Bytes and blocks in all caches, and how many caches there are.
    pub(super) fn hold(&self) -> (usize, usize, usize) {
        self.all().fold((0, 0, 0), |(bytes, blocks, caches), cache| {
            let (more_bytes, more_blocks) = cache.holds();
            (bytes + more_bytes, blocks + more_blocks, caches + 1)
        })
    }
}

fn become_owner(cache: &Cache, old: u32, new: u32) -> bool {
    let owner: &AtomicU32 = &cache.owner;
    owner.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}
