//! `heap-soak`: the pool heap for very many operations, in a pool of two and a half times what is live that may not grow.
//! In twice as much a few of ten million requests fail: when sizes go from 16-256 bytes to larger ones, half of the
//! small blocks are freed and the holes between the others too small (glibc's needs as much then, see `heaps`).
//! The short form is a test of `heapscribe-conformance`.

use std::time::Instant;

use anyhow::{Result, bail};
use heapscribe_alloc::Heap as _;
use heapscribe_alloc::locked::{Config, PageOptions, TlsfHeap};
use heapscribe_conformance::soak::{SoakPlan, SoakProgress};

use crate::cli::HeapSoakArgs;

/// Lines of progress, at most.
const LINES: u64 = 50;

/// Runs it; an error is a heap that failed.
pub(crate) fn soak(args: &HeapSoakArgs) -> Result<()> {
    let pages = PageOptions { prefault: true, lock: false, huge_pages: false };
    let live_bytes = args.live_mib << 20;
    let cache_bytes = args.cache_kib << 10;
    let pool_bytes = live_bytes / 2 * 5;
    let heap = TlsfHeap::new(Config { pool_bytes, grow_bytes: 0, cache_bytes, pages, ..Config::DEFAULT });
    let phase_operations = (args.operations / 1000).clamp(10_000, 2_000_000);
    let plan = SoakPlan { operations: args.operations, phase_operations, live_bytes, seed: args.seed };
    let cycles = (args.operations / phase_operations / 5).max(1);
    let begin = Instant::now();
    let (mut number, mut farthest) = (0, 0);
    let in_pool = |bytes: usize| bytes as f64 / live_bytes as f64;
    let progress = |so_far: &SoakProgress| {
        number += 1;
        farthest = farthest.max(so_far.extent_bytes);
        if number % cycles.div_ceil(LINES) == 0 {
            let stats = heap.stats();
            println!(
                "{:>13} operations, {:>5.0} s: blocks reach {:.3} x live, {} failed; now {} blocks, {} free pieces, largest {} KiB, fragmentation {} per mille",
                so_far.operations,
                begin.elapsed().as_secs_f64(),
                in_pool(so_far.extent_bytes),
                so_far.failures,
                stats.blocks,
                stats.free_blocks,
                stats.largest_free_bytes >> 10,
                stats.fragmentation_per_mille(),
            );
        }
        args.seconds.is_none_or(|seconds| begin.elapsed().as_secs() < seconds)
    };
    let done = match heapscribe_conformance::soak::soak(&heap, plan, progress) {
        Ok(done) => done,
        Err(why) => bail!("after {:.0} s: {why}", begin.elapsed().as_secs_f64()),
    };
    heap.thread_exit();
    let stats = heap.stats();
    println!(
        "{} operations in {:.0} s: {} failed, at the farthest {:.3} x live, afterwards {} blocks and {} free pieces, check: {:?}",
        done.operations,
        begin.elapsed().as_secs_f64(),
        done.failures,
        in_pool(farthest),
        stats.blocks,
        stats.free_blocks,
        heap.check(),
    );
    if done.failures > 0
        || stats.blocks != 0
        || stats.free_blocks > 1 + u64::from(cache_bytes > 0)
        || heap.check().is_err()
    {
        bail!("the pool did not last");
    }
    Ok(())
}
