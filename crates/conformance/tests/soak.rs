//! The short form of the soak: a pool of a bounded size serves shifting sizes without end. The long form is
//! `cargo run --release -p heapscribe-bench -- heap-soak`.

use heapscribe_alloc::Heap;
use heapscribe_alloc::locked::{Config, PageOptions, TlsfHeap};
use heapscribe_conformance::soak::{SoakPlan, soak};

#[test]
fn shifting_sizes_do_not_fragment_a_pool_without_bound() {
    run_soak(0);
}

#[test]
fn nor_with_caches() {
    run_soak(64 << 10);
}

fn run_soak(cache_bytes: usize) {
    const LIVE: usize = 8 << 20;
    let pages = PageOptions { prefault: false, lock: false, huge_pages: false };
    let pool_bytes = LIVE / 2 * 5;
    let heap = TlsfHeap::new(Config { pool_bytes, grow_bytes: 0, cache_bytes, pages, ..Config::DEFAULT });
    let plan = SoakPlan { operations: 2_500_000, phase_operations: 200_000, live_bytes: LIVE, seed: 1 };
    let done = soak(&heap, plan, |_| true).unwrap();
    heap.thread_exit();
    let stats = heap.stats();
    // A cache that no thread owns lies between what is free.
    let free_blocks = if cache_bytes > 0 { 2 } else { 1 };
    assert!(done.operations >= 2_500_000);
    assert_eq!((done.failures, stats.failures, stats.blocks, stats.free_blocks), (0, 0, 0, free_blocks));
    assert_eq!(heap.check(), Ok(()));
}
