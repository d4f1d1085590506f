//! The short form of the soak: a pool of a bounded size serves shifting sizes without end. The long form is
//! `cargo run --release -p heapscribe-bench -- heap-soak`.

use heapscribe_alloc::Heap;
use heapscribe_alloc::locked::{Config, TlsfHeap, Wishes};
use heapscribe_conformance::soak::{Soak, soak};

#[test]
fn shifting_sizes_do_not_wear_a_pool_out() {
    last(0);
}

#[test]
fn nor_with_a_cache() {
    last(64 << 10);
}

fn last(cache_bytes: usize) {
    const LIVE: usize = 8 << 20;
    let wishes = Wishes { prefault: false, lock: false, huge_pages: false };
    let pool_bytes = LIVE / 2 * 5;
    let heap = TlsfHeap::new(Config { pool_bytes, grow_bytes: 0, cache_bytes, wishes, ..Config::DEFAULT });
    let plan = Soak { operations: 2_500_000, phase_operations: 200_000, live_bytes: LIVE, seed: 1 };
    let done = soak(&heap, plan, |_| true).unwrap();
    heap.thread_exit();
    let stats = heap.stats();
    // A cache that nobody has lies between what is free.
    let free_blocks = if cache_bytes > 0 { 2 } else { 1 };
    assert!(done.operations >= 2_500_000);
    assert_eq!((done.failures, stats.failures, stats.blocks, stats.free_blocks), (0, 0, 0, free_blocks));
    assert_eq!(heap.check(), Ok(()));
}
