//! What went wrong in heaphook and its successors, each with a test that fails on its cause. Those that any
//! heap can get wrong are in the suite, those of libc's rules in `heapscribe-alloc/tests/front.rs`; here are
//! those of a heap of pools. `planted` has the bugs, and sees to it that their tests fail.
//!
//! | what went wrong there | test |
//! |---|---|
//! | 1 a map of aligned blocks without a lock: SEGV with threads | suite `four_threads` |
//! | 2 realloc of an aligned block shifts its contents, a stale entry frees another's block | suite `realloc_across_alignments`, `random_programs` |
//! | 3 a child of a fork waits for a lock of its parent's | suite `fork_while_threads_allocate` |
//! | 4 mmap unchecked: 2^56 bytes, pools of 1 GiB, growth of 0 crash | suite `impossible_sizes`, here |
//! | 5 growth, and a message, under the lock | here |
//! | 6 a wake-up is missed when several threads begin | here |
//! | 7 an alignment of 1 where 16 is needed | `request` |
//! | 8 pvalloc rounds wrongly | front `pvalloc_has_whole_pages` |
//! | 9 realloc never shrinks and forgets the alignment | here |
//! | 10, 12 | of logs, not of heaps |
//! | 11 a handler waits for its own thread; errno is lost | here; front `check` |
//! | 14 in a branch: bad_alloc out of malloc, the rest of a block with the wrong sign | suite `exhaustion_and_recovery`, `usable_size_is_writable` |
//! | 13 pvalloc calls itself | front `pvalloc_has_whole_pages` |
#![allow(unsafe_code)]

mod planted;

use std::ffi::{c_int, c_ulong};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

use heapscribe_alloc::locked::{Area, Config, PageOptions, TlsfHeap, from_kernel};
use heapscribe_alloc::{Heap, Request};
use heapscribe_conformance::ShadowHeap;

const LAZY: PageOptions = PageOptions { prefault: false, lock: false, huge_pages: false };

const fn config(pool_bytes: usize, grow_bytes: usize) -> Config {
    Config { pool_bytes, grow_bytes, pages: LAZY, ..Config::DEFAULT }
}

fn bytes(size: usize) -> Request {
    Request::bytes(size).unwrap()
}

#[test]
fn a_pool_of_over_a_gibibyte_is_one_block() {
    let heap = TlsfHeap::new(config(3 << 30, 0));
    let block = heap.alloc(bytes((3 << 30) - 64)).unwrap();
    assert!(heap.alloc(bytes(4096)).is_none());
    // SAFETY: the heap's block.
    unsafe { heap.free(block) };
    assert_eq!((heap.stats().free_blocks, heap.check()), (1, Ok(())));
}

#[test]
fn without_growth_a_full_pool_is_full() {
    let heap = TlsfHeap::new(config(1 << 20, 0));
    assert!(heap.alloc(bytes(2 << 20)).is_none());
    assert!(heap.alloc(bytes(1000)).is_some(), "the pool was added all the same");
    let stats = heap.stats();
    assert_eq!((stats.pools, stats.growths, stats.failures), (1, 0, 1));
}

#[test]
fn a_small_growth_doubles_until_it_suffices_and_goes_on_from_there() {
    let heap = TlsfHeap::new(config(4096, 100));
    let request = bytes(100_000);
    let blocks: Vec<_> = (0..20).map(|_| heap.alloc(request).unwrap()).collect();
    let stats = heap.stats();
    assert!(stats.pools <= 7, "{stats:?}: heaphook adds 11 pools for each");
    // SAFETY: the heap's blocks.
    blocks.into_iter().for_each(|block| unsafe { heap.free(block) });
    assert_eq!(heap.check(), Ok(()));
}

#[test]
fn a_limit_is_a_limit() {
    let heap = TlsfHeap::new(Config { max_bytes: 1 << 20, ..config(256 << 10, 64 << 10) });
    let mut all = 0;
    while heap.alloc(bytes(5000)).is_some() {
        all += 5000;
    }
    assert!((3 << 18..1 << 20).contains(&all), "{all}");
    assert!(heap.stats().pool_bytes <= 1 << 20);
}

/// A source that waits until it is released: the kernel, taking long.
fn slow(len_bytes: usize, pages: PageOptions) -> Option<Area> {
    if !IS_FIRST.swap(false, Ordering::SeqCst) {
        ASKED.store(true, Ordering::SeqCst);
        while !RELEASED.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
    }
    from_kernel(len_bytes, pages)
}
static IS_FIRST: AtomicBool = AtomicBool::new(true);
static ASKED: AtomicBool = AtomicBool::new(false);
static RELEASED: AtomicBool = AtomicBool::new(false);

#[test]
fn growth_does_not_block_other_threads() {
    static HEAP: TlsfHeap = TlsfHeap::with_source(config(1 << 20, 1 << 20), slow);
    growth_beside_others(&HEAP, 1 << 20);
}

fn growth_beside_others(heap: &'static dyn Heap, pool_bytes: usize) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _serial = ONE_AT_A_TIME.lock().unwrap();
    IS_FIRST.store(true, Ordering::SeqCst);
    ASKED.store(false, Ordering::SeqCst);
    RELEASED.store(false, Ordering::SeqCst);
    let first = heap.alloc(bytes(1000)).unwrap();
    std::thread::scope(|scope| {
        let large = scope.spawn(|| heap.alloc(bytes(5 * pool_bytes)).map(|block| block.as_ptr() as usize));
        while !ASKED.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        // The kernel is being asked and does not answer; meanwhile this thread is served.
        for _ in 0..1000 {
            let block = heap.alloc(bytes(10_000)).unwrap();
            // SAFETY: the heap's block.
            unsafe { heap.free(block) };
        }
        // SAFETY: the heap's block.
        unsafe { heap.free(first) };
        RELEASED.store(true, Ordering::SeqCst);
        assert!(large.join().unwrap().is_some());
    });
}

#[test]
fn first_calls_of_many_threads_at_once() {
    for _ in 0..20 {
        let heap = TlsfHeap::new(config(1 << 20, 0));
        first_calls_at_once(&heap);
        assert_eq!((heap.stats().pools, heap.stats().blocks), (1, 8));
    }
}

fn first_calls_at_once(heap: &dyn Heap) {
    let start = Barrier::new(8);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                assert!(heap.alloc(bytes(100)).is_some());
            });
        }
    });
}

#[test]
fn a_heap_that_is_configured_late_keeps_what_it_has() {
    let heap = TlsfHeap::new(config(1 << 20, 0));
    assert!(heap.configure(config(2 << 20, 0)) && heap.start());
    assert!((2 << 20) - heap.stats().pool_bytes < 100);
    assert!(!heap.configure(config(4 << 20, 0)));
}

/// A heap that leaves realloc to the trait.
struct Plain(TlsfHeap);

// SAFETY: as the pool heap, whose blocks these are.
unsafe impl Heap for Plain {
    fn alloc(&self, request: Request) -> Option<NonNull<u8>> {
        self.0.alloc(request)
    }
    unsafe fn free(&self, block: NonNull<u8>) {
        // SAFETY: used, by `Heap::free`: the block is this heap's and was not freed.
        unsafe { self.0.free(block) };
    }
    unsafe fn usable_size(&self, block: NonNull<u8>) -> usize {
        // SAFETY: used, by `Heap::usable_size`: the block is this heap's and was not freed.
        unsafe { self.0.usable_size(block) }
    }
}

#[test]
fn the_default_realloc_shrinks_and_keeps_the_alignment() {
    let heap = Plain(TlsfHeap::new(config(8 << 20, 0)));
    shrinks_and_aligns(&heap, || heap.0.stats().used_bytes);
}

fn shrinks_and_aligns(heap: &dyn Heap, used_bytes: impl Fn() -> u64) {
    let mut shadow = ShadowHeap::new(heap);
    let block = shadow.alloc(bytes(1 << 20)).unwrap().unwrap();
    let block = shadow.realloc(block, bytes(1000)).unwrap().unwrap();
    assert!(used_bytes() < 2000);
    for _ in 0..10 {
        shadow.alloc(bytes(24)).unwrap();
        shadow.realloc(block, Request::new(1000, 16).unwrap()).unwrap();
    }
    let block = shadow.blocks().find(|_| true).unwrap();
    let moved = shadow.realloc(block, Request::new(900, 1 << 16).unwrap()).unwrap().unwrap();
    assert!(moved.is_multiple_of(1 << 16));
    shadow.clear().unwrap();
}

/// One without and one with caches, in turn.
static INTERRUPTED: [TlsfHeap; 2] = [
    TlsfHeap::new(config(16 << 20, 0)),
    TlsfHeap::new(Config { cache_bytes: 32 << 10, ..config(16 << 20, 0) }),
];
/// For each of them.
const HANDLERS: usize = 150;
static NOW: AtomicUsize = AtomicUsize::new(0);
static HANDLED: AtomicUsize = AtomicUsize::new(0);
static REFUSED: AtomicUsize = AtomicUsize::new(0);
static SHELF: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];

/// Frees a block that the interrupted code gave it, and asks for one.
extern "C" fn handler(_: c_int) {
    let heap = &INTERRUPTED[NOW.load(Ordering::Acquire)];
    for place in &SHELF {
        if let Some(block) = NonNull::new(place.swap(0, Ordering::AcqRel) as *mut u8) {
            // SAFETY: the heap's block, taken off the shelf once.
            unsafe { heap.free(block) };
        }
    }
    match heap.alloc(bytes(100)) {
        // SAFETY: the heap's block.
        Some(block) => unsafe { heap.free(block) },
        None => _ = REFUSED.fetch_add(1, Ordering::Relaxed),
    }
    HANDLED.fetch_add(1, Ordering::Release);
}

unsafe extern "C" {
    fn signal(number: c_int, handler: extern "C" fn(c_int)) -> usize;
    fn pthread_self() -> c_ulong;
    fn pthread_kill(thread: c_ulong, signal: c_int) -> c_int;
}

#[test]
fn a_handler_that_interrupts_its_own_thread_does_not_wait_for_it() {
    const SIGUSR2: c_int = 12;
    // SAFETY: a handler that touches nothing but atomics and the heap.
    unsafe { signal(SIGUSR2, handler) };
    for (now, heap) in INTERRUPTED.iter().enumerate() {
        NOW.store(now, Ordering::Release);
        HANDLED.store(0, Ordering::Release);
        interrupt(SIGUSR2, heap);
    }
}

fn interrupt(with: c_int, heap: &TlsfHeap) {
    // SAFETY: this thread.
    let victim = unsafe { pthread_self() };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=HANDLERS {
                // SAFETY: the victim waits for this thread's end.
                unsafe { pthread_kill(victim, with) };
                while HANDLED.load(Ordering::Acquire) < round {
                    std::thread::yield_now();
                }
            }
            is_over.store(true, Ordering::Release);
        });
        let mut n = 0;
        while !is_over.load(Ordering::Acquire) {
            n += 1;
            let block = heap.alloc(bytes(16 + n % 3000)).unwrap();
            let old = SHELF[n % 8].swap(block.as_ptr() as usize, Ordering::AcqRel);
            if let Some(old) = NonNull::new(old as *mut u8) {
                // SAFETY: the heap's block, taken off the shelf once.
                unsafe { heap.free(old) };
            }
        }
    });
    println!("of {HANDLERS} handlers {} ran while the lock was held", REFUSED.load(Ordering::Relaxed));
    handler(0);
    // What handlers deferred is freed by the calls that follow, a block at a time.
    for _ in 0..HANDLERS * SHELF.len() {
        // SAFETY: the heap's block.
        unsafe { heap.free(heap.alloc(bytes(4000)).unwrap()) };
    }
    assert_eq!((heap.stats().blocks, heap.check()), (0, Ok(())));
}
