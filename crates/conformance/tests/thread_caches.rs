//! Threads' caches: that they are bounded, counted as free, and flushed when the memory is needed, also those of
//! threads that have ended. The suite runs over heaps with caches in `heaps.rs`, handlers in `heaphook.rs`.
#![allow(unsafe_code)]

use std::collections::HashSet;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Barrier;
use std::sync::mpsc::channel;

use heapscribe_alloc::locked::{Config, PageOptions, TlsfHeap};
use heapscribe_alloc::{Heap, Request};

const POOL_BYTES: usize = 1 << 20;
const CACHE_BYTES: usize = 64 << 10;

fn heap() -> TlsfHeap {
    heap_of(POOL_BYTES)
}

fn heap_of(pool_bytes: usize) -> TlsfHeap {
    TlsfHeap::new(Config {
        pool_bytes,
        grow_bytes: 0,
        cache_bytes: CACHE_BYTES,
        pages: PageOptions { prefault: false, lock: false, huge_pages: false },
        ..Config::DEFAULT
    })
}

fn alloc(heap: &TlsfHeap, size: usize) -> NonNull<u8> {
    heap.alloc(Request::bytes(size).unwrap()).expect("there is memory for this")
}

fn free(heap: &TlsfHeap, block: NonNull<u8>) {
    // SAFETY: the tests free what they allocated, once but where a second free is the test.
    unsafe { heap.free(block) };
}

/// Fills this thread's cache with blocks of all sizes.
fn fill_cache(heap: &TlsfHeap) {
    let blocks: Vec<_> = (0..300).map(|n| alloc(heap, 1 + n * 37 % 1024)).collect();
    blocks.into_iter().for_each(|block| free(heap, block));
}

/// The same for a thread that has ended then. One that is joined may still be known to the kernel for a while.
fn fill_cache_of_another(heap: &TlsfHeap) {
    let fill = || {
        fill_cache(heap);
        std::fs::read_link("/proc/thread-self").unwrap()
    };
    let thread = std::thread::scope(|scope| scope.spawn(fill).join().unwrap());
    while std::fs::exists(std::path::Path::new("/proc").join(&thread)).unwrap() {
        std::thread::yield_now();
    }
}

/// Allocates all that there is in blocks of 4 KiB, which no cache takes, and frees them: how many bytes.
fn room(heap: &TlsfHeap) -> usize {
    let request = Request::bytes(4096 - 8).unwrap();
    let blocks: Vec<_> = std::iter::from_fn(|| heap.alloc(request)).collect();
    let count = blocks.len();
    blocks.into_iter().for_each(|block| free(heap, block));
    count * 4096
}

#[test]
fn cached_blocks_count_as_free() {
    let heap = heap();
    fill_cache(&heap);
    let stats = heap.stats();
    assert_eq!((stats.blocks, stats.failures, stats.misuses), (0, 0, 0), "{stats:?}");
    assert!(stats.free_blocks > 30, "they are cached: {stats:?}");
    assert!(stats.used_bytes < 2048, "the cache itself: {stats:?}");
    assert_eq!(stats.used_bytes + stats.free_bytes, stats.pool_bytes);
    let mut cached = 0;
    heap.walk(|block| cached += if block.is_used { block.size_bytes + 8 } else { 0 });
    assert!(cached <= CACHE_BYTES + 2048, "a cache is bounded: {cached}");
    heap.thread_exit();
    assert_eq!(heap.stats().used_bytes, stats.used_bytes);
    assert!(heap.stats().free_blocks <= 2, "merged with their neighbours");
    assert_eq!(heap.check(), Ok(()));
}

#[test]
fn a_cached_block_is_allocated_once() {
    let heap = heap();
    for _ in 0..50 {
        let blocks: Vec<_> = (0..100).map(|n| alloc(&heap, 16 + n % 7 * 16)).collect();
        let places: HashSet<_> = blocks.iter().map(|block| block.as_ptr() as usize).collect();
        assert_eq!(places.len(), blocks.len());
        blocks.into_iter().for_each(|block| free(&heap, block));
    }
    assert_eq!((heap.stats().blocks, heap.check()), (0, Ok(())));
}

#[test]
fn a_second_free_of_a_cached_block_is_counted() {
    let heap = heap();
    let (first, second) = (alloc(&heap, 100), alloc(&heap, 100));
    free(&heap, first);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| free(&heap, first)));
    assert_eq!(outcome.is_err(), cfg!(debug_assertions), "debug builds end there");
    assert_eq!(heap.stats().misuses, 1);
    let (again, other) = (alloc(&heap, 100), alloc(&heap, 100));
    assert!(again != other && again != second && other != second);
}

#[test]
fn a_full_pool_flushes_the_caches() {
    let heap = heap();
    alloc(&heap, 1);
    let all = room(&heap);
    fill_cache(&heap);
    let near = all - (24 << 10);
    let (first, second) = (room(&heap), room(&heap));
    assert!(first >= near && second + 8192 >= all, "this thread's: {first}, {second} of {all}");
    fill_cache_of_another(&heap);
    let (first, second) = (room(&heap), room(&heap));
    assert!(first >= near && second + 8192 >= all, "of one that has ended: {first}, {second} of {all}");
    assert_eq!(heap.check(), Ok(()));
}

#[test]
fn caches_of_threads_that_end_without_notice_are_adopted() {
    let heap = heap();
    for _ in 0..200 {
        fill_cache_of_another(&heap);
    }
    let stats = heap.stats();
    // Each cache takes over 1 KiB: two hundred of them would be a fifth of the pool.
    assert!(stats.used_bytes < 8 << 10, "{stats:?}");
    assert_eq!((stats.blocks, stats.failures, heap.check()), (0, 0, Ok(())));
}

#[test]
fn threads_that_live_have_a_cache_each() {
    check_caches(0, 8 << 10..16 << 10);
}

#[test]
fn all_caches_together_are_bounded() {
    check_caches(2 * CACHE_BYTES, 2 << 10..3 << 10);
}

/// Eight threads, of whose caches all together may have so many bytes; what the caches themselves then take of the pool.
fn check_caches(caches_bytes: usize, expected_bytes: Range<u64>) {
    let config =
        Config { pool_bytes: 4 * POOL_BYTES, grow_bytes: 0, cache_bytes: CACHE_BYTES, ..Config::DEFAULT };
    let (heap, all_have) = (TlsfHeap::new(Config { caches_bytes, ..config }), Barrier::new(8));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    fill_cache(&heap);
                }
                all_have.wait();
                heap.thread_exit();
            });
        }
    });
    let stats = heap.stats();
    assert_eq!((stats.blocks, stats.failures, heap.check()), (0, 0, Ok(())));
    assert!(expected_bytes.contains(&stats.used_bytes), "{stats:?}");
}

#[test]
fn what_one_thread_allocates_and_another_frees_is_reused() {
    let heap = heap();
    let (send, receive) = channel::<usize>();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for block in receive {
                free(&heap, NonNull::new(block as *mut u8).unwrap());
            }
        });
        let mut refused = 0;
        for n in 0..50_000 {
            // More than the pool has room for, were they not freed; the other may be behind.
            match heap.alloc(Request::bytes(200 + n % 300).unwrap()) {
                Some(block) => send.send(block.as_ptr() as usize).unwrap(),
                None => {
                    refused += 1;
                    std::thread::yield_now();
                }
            }
        }
        drop(send);
        assert!(refused < 45_000, "nothing was reused");
    });
    assert_eq!((heap.stats().blocks, heap.check()), (0, Ok(())));
}

#[test]
fn a_thread_has_a_cache_of_one_heap_and_uses_others_without() {
    let heaps = [heap(), heap()];
    for _ in 0..3 {
        heaps.iter().for_each(fill_cache);
    }
    assert!(heaps[0].stats().free_blocks > 30 && heaps[1].stats().free_blocks == 1);
    heaps[0].thread_exit();
    fill_cache(&heaps[1]);
    assert!(heaps[1].stats().free_blocks > 30, "once the other cache is released");
    assert!(heaps.iter().all(|heap| heap.check().is_ok()));
    heaps[1].thread_exit();
}

#[test]
fn a_child_flushes_the_caches_of_threads_that_it_does_not_have() {
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(code: i32) -> !;
    }
    let (heap, is_filled, is_over) = (heap(), Barrier::new(2), Barrier::new(2));
    let request = Request::bytes(4096 - 8).unwrap();
    alloc(&heap, 1);
    let all = room(&heap);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            fill_cache(&heap);
            is_filled.wait();
            is_over.wait();
        });
        is_filled.wait();
        fill_cache(&heap);
        heap.fork_prepare();
        // SAFETY: prepared: this thread called `fork_prepare`. The child uses this heap only.
        let status = unsafe {
            let pid = fork();
            if pid == 0 {
                heap.fork_child();
                let small = (0..50).all(|n| heap.alloc(Request::bytes(1 + n % 64).unwrap()).is_some());
                let mut bytes = 0;
                while heap.alloc(request).is_some() {
                    bytes += 4096;
                }
                _exit(if !small || heap.check().is_err() {
                    100
                } else {
                    (all.saturating_sub(bytes) >> 12) as i32
                });
            }
            heap.fork_parent();
            let mut status = -1;
            waitpid(pid, &mut status, 0);
            status
        };
        is_over.wait();
        // The exit code: how many blocks of 4 KiB it got less. In each of the two caches there were 64 KiB.
        assert!((0..=12 << 8).contains(&status), "{status:#x}");
    });
}
