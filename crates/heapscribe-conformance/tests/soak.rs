//! The short form of the soak: a pool of a bounded size serves shifting sizes without end. The long form is
//! `cargo run --release -p heapscribe-bench -- heap-soak`.

use heapscribe_alloc::Heap;
use heapscribe_alloc::locked::{Config, TlsfHeap, Wishes};
use heapscribe_conformance::soak::{Soak, soak};

#[test]
fn shifting_sizes_do_not_wear_a_pool_out() {
    const LIVE: usize = 8 << 20;
    let wishes = Wishes { prefault: false, lock: false, huge_pages: false };
    let heap = TlsfHeap::new(Config { pool_bytes: LIVE / 2 * 5, grow_bytes: 0, max_bytes: 0, wishes });
    let plan = Soak { operations: 5_000_000, phase_operations: 200_000, live_bytes: LIVE, seed: 1 };
    let done = soak(&heap, plan, |_| true).unwrap();
    let stats = heap.stats();
    assert!(done.operations >= 5_000_000);
    assert_eq!((done.failures, stats.failures, stats.blocks, stats.free_blocks), (0, 0, 0, 1));
    assert_eq!(heap.check(), Ok(()));
}
