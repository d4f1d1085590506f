//! Blocks that are freed while another thread has the pool heap's lock: `walk` has it while it visits each block.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use heapscribe_alloc::locked::{Config, PageOptions, TlsfHeap};
use heapscribe_alloc::{Heap, Request};

const POOL_BYTES: usize = 1 << 20;

/// Without caches, and with such that hold two of the larger blocks.
fn heaps() -> [TlsfHeap; 2] {
    [0, 2048].map(|cache_bytes| {
        TlsfHeap::new(Config {
            pool_bytes: POOL_BYTES,
            grow_bytes: 0,
            cache_bytes,
            pages: PageOptions { prefault: false, lock: false, huge_pages: false },
            ..Config::DEFAULT
        })
    })
}

/// A block, as its address: what another thread may be given.
fn alloc(heap: &TlsfHeap, size: usize) -> usize {
    heap.alloc(Request::bytes(size).unwrap()).map_or(0, |block| block.as_ptr() as usize)
}

fn free(heap: &TlsfHeap, block: usize) {
    // SAFETY: the tests free what they allocated, once but where a second free is the test.
    unsafe { heap.free(NonNull::new(block as *mut u8).expect("there was memory for this")) };
}

/// Runs a thread to its end while this one has the lock.
fn meanwhile(heap: &TlsfHeap, other: impl Fn() + Sync) {
    let has_run = Cell::new(false);
    heap.walk(|_| {
        if !has_run.replace(true) {
            std::thread::scope(|scope| scope.spawn(&other).join()).expect("the thread ends well");
        }
    });
    assert!(has_run.get());
}

#[test]
fn a_free_waits_for_no_other_thread() {
    for heap in heaps() {
        let before = (alloc(&heap, 40), heap.stats()).1;
        let blocks: Vec<_> = (0..1000).map(|n| alloc(&heap, n)).collect();
        meanwhile(&heap, || blocks.iter().for_each(|&block| free(&heap, block)));
        let after = heap.stats();
        assert_eq!((after.blocks, after.misuses), (before.blocks, 0));
        assert_eq!(heap.check(), Ok(()));
    }
}

#[test]
fn deferred_blocks_are_freed_when_the_memory_is_needed() {
    for heap in heaps() {
        let large = POOL_BYTES - (64 << 10);
        let blocks: Vec<_> =
            std::iter::from_fn(|| Some(alloc(&heap, 2000)).filter(|&block| block != 0)).collect();
        assert_eq!(alloc(&heap, large), 0, "the pool is full");
        meanwhile(&heap, || blocks.iter().for_each(|&block| free(&heap, block)));
        let block = alloc(&heap, large);
        assert_ne!(block, 0);
        free(&heap, block);
        assert_eq!(heap.check(), Ok(()));
    }
}

#[test]
fn each_call_frees_a_deferred_block() {
    for heap in heaps() {
        let blocks: Vec<_> = (0..200).map(|_| alloc(&heap, 2000)).collect();
        let next = alloc(&heap, 2000);
        meanwhile(&heap, || blocks.iter().for_each(|&block| free(&heap, block)));
        // Each of these frees a deferred one first.
        let again: Vec<_> = (0..200).map(|_| alloc(&heap, 2000)).collect();
        assert!(again.iter().all(|&block| block < next), "none lies beyond");
        again.into_iter().for_each(|block| free(&heap, block));
        assert_eq!(heap.check(), Ok(()));
    }
}

#[test]
fn a_second_free_of_a_deferred_block_is_counted() {
    for heap in heaps() {
        let blocks: Vec<_> = (0..20).map(|_| alloc(&heap, 2000)).collect();
        let frees_again = |block| {
            let outcome = catch_unwind(AssertUnwindSafe(|| free(&heap, block)));
            assert_eq!(outcome.is_err(), cfg!(debug_assertions), "debug builds end there");
        };
        meanwhile(&heap, || {
            blocks.iter().for_each(|&block| free(&heap, block));
            frees_again(blocks[7]);
        });
        // The oldest are freed last: this one is still deferred.
        frees_again(blocks[0]);
        let stats = heap.stats();
        assert_eq!((stats.blocks, stats.misuses), (heap.stats().blocks, 2));
        assert_eq!(heap.check(), Ok(()));
    }
}
