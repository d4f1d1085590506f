//! The workload of a heap, in a process of its own that prints its results.
//!
//! *Latency*: a set of blocks that stays as large; one of them is freed and another one allocated in its place, over
//! and over, and each call is timed by the time stamp counter between fences. The block's pages are touched
//! afterwards, not timed: a heap is charged for its own page faults only. A call of over 20 us during which the
//! kernel took the core away is not counted among the others.
//!
//! *Footprint*: as many bytes live all the time, while the kernel's count of resident memory is read.
#![allow(unsafe_code)]

use std::fs;
use std::sync::Barrier;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use heapscribe_conformance::workload::Rng;
use heapscribe_replay::Histogram;
use serde_json::{Value, json};

use crate::cli::HeapWorkArgs;
use crate::compared_heap::Calls;

const SHARES: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];
/// A call of this length is checked: was the core taken away?
const LONG_NS: f64 = 20_000.0;
const PAGE_BYTES: usize = 4096;

/// Runs what the arguments say.
pub(crate) fn run(args: &HeapWorkArgs) -> Result<Value> {
    match args.footprint_bytes {
        Some(live_bytes) => footprint(args, live_bytes),
        None => latency(args),
    }
}

/// A live block.
#[derive(Clone, Copy)]
struct LiveBlock {
    block: usize,
    size: usize,
}

fn alloc_touched(calls: Calls, size: usize) -> Result<LiveBlock> {
    let block = (calls.alloc)(size);
    if block.is_null() {
        bail!("no memory for {size} bytes");
    }
    let block = LiveBlock { block: block as usize, size };
    touch(block);
    Ok(block)
}

/// Writes to every page of a block.
#[inline(always)]
fn touch(live: LiveBlock) {
    for offset in (0..live.size).step_by(PAGE_BYTES) {
        // SAFETY: within the block.
        unsafe { ((live.block + offset) as *mut u8).write_volatile(1) };
    }
}

/// What a thread has timed.
struct Timed {
    alloc: Histogram,
    free: Histogram,
    left_out: u64,
}

fn latency(args: &HeapWorkArgs) -> Result<Value> {
    let pool_bytes = args.live * args.sizes.mean_bytes() * 3 / 2 + (64 << 20);
    let calls = args.heap.prepare(pool_bytes, true).context("the heap could not be prepared")?;
    let ticks_per_ns = ticks_per_ns();
    let barrier = Barrier::new(args.threads);
    let timed = std::thread::scope(|scope| {
        let (calls, barrier) = (&calls, &barrier);
        let threads: Vec<_> = (0..args.threads)
            .map(|number| {
                scope.spawn(move || time_thread(args, *calls, number, barrier, LONG_NS * ticks_per_ns))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a thread does not panic"))
            .collect::<Result<Vec<_>>>()
    })?;
    let (mut alloc, mut free, mut left_out) = (Histogram::new(), Histogram::new(), 0);
    for part in timed {
        alloc.merge(&part.alloc);
        free.merge(&part.free);
        left_out += part.left_out;
    }
    let figures = |histogram: &Histogram| {
        let ns = |ticks: u64| (ticks as f64 / ticks_per_ns).round();
        let mut by_share: serde_json::Map<String, Value> = SHARES
            .iter()
            .map(|&(name, share)| (name.to_owned(), json!(ns(histogram.percentile(share)))))
            .collect();
        by_share.insert("max".to_owned(), json!(ns(histogram.most())));
        by_share.insert("calls".to_owned(), json!(histogram.total()));
        Value::from(by_share)
    };
    Ok(json!({"malloc": figures(&alloc), "free": figures(&free), "left_out": left_out}))
}

fn time_thread(
    args: &HeapWorkArgs,
    calls: Calls,
    number: usize,
    barrier: &Barrier,
    long_ticks: f64,
) -> Result<Timed> {
    let mut rng = Rng::new(args.seed * 97 + number as u64 + 1);
    let overhead = (0..1000).map(|_| timed(|| ()).1).min().unwrap_or(0);
    let count = args.live / args.threads;
    let first = args.sizes.range(0, 1);
    let mut blocks: Vec<LiveBlock> = Vec::with_capacity(count);
    for _ in 0..count {
        let size = first.size(&mut rng);
        blocks.push(alloc_touched(calls, size)?);
    }
    let mut result = Timed { alloc: Histogram::new(), free: Histogram::new(), left_out: 0 };
    let operations = args.operations / args.threads;
    let warm_up = operations / 4;
    let mut switches = involuntary_switches();
    barrier.wait();
    for n in 0..operations + warm_up {
        let range = args.sizes.range(n, operations + warm_up);
        let (at, size) = (rng.below(count), range.size(&mut rng));
        let old = blocks[at].block as *mut u8;
        let ((), free) = timed(|| (calls.free)(old));
        let (block, alloc) = timed(|| (calls.alloc)(size));
        if block.is_null() {
            bail!("no memory for {size} bytes");
        }
        blocks[at] = LiveBlock { block: block as usize, size };
        touch(blocks[at]);
        if n < warm_up {
            continue;
        }
        let (alloc, free) = (alloc.saturating_sub(overhead), free.saturating_sub(overhead));
        if alloc as f64 > long_ticks || free as f64 > long_ticks {
            let before = std::mem::replace(&mut switches, involuntary_switches());
            if switches != before {
                result.left_out += 1;
                continue;
            }
        }
        result.alloc.add(alloc);
        result.free.add(free);
    }
    Ok(result)
}

/// How many ticks a call takes.
#[inline(always)]
fn timed<T>(call: impl FnOnce() -> T) -> (T, u64) {
    use std::arch::x86_64::{__rdtscp, _mm_lfence, _rdtsc};
    let mut core = 0;
    // SAFETY: every x86_64 has these.
    unsafe {
        _mm_lfence();
        let begin = _rdtsc();
        _mm_lfence();
        let value = call();
        let end = __rdtscp(&mut core);
        _mm_lfence();
        (value, end - begin)
    }
}

fn ticks_per_ns() -> f64 {
    let begin = Instant::now();
    let ((), ticks) = timed(|| std::thread::sleep(std::time::Duration::from_millis(50)));
    ticks as f64 / begin.elapsed().as_nanos() as f64
}

/// How often the kernel has taken the core away from this thread.
fn involuntary_switches() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|line| line.trim().parse().ok()).unwrap_or(0)
}

/// The most memory that the same number of live bytes takes.
fn footprint(args: &HeapWorkArgs, live_bytes: usize) -> Result<Value> {
    let calls = args.heap.prepare(live_bytes * 4, false).context("the heap could not be prepared")?;
    let mut rng = Rng::new(args.seed);
    let mut blocks: Vec<LiveBlock> = vec![LiveBlock { block: 0, size: 0 }; live_bytes / 16];
    blocks.clear();
    let before = resident_bytes();
    let (mut live, mut peak, mut sum, mut samples) = (0, 0usize, 0, 0);
    for n in 0..args.operations {
        let size = args.sizes.range(n, args.operations).size(&mut rng);
        while live + size > live_bytes {
            let old = blocks.swap_remove(rng.below(blocks.len()));
            (calls.free)(old.block as *mut u8);
            live -= old.size;
        }
        blocks.push(alloc_touched(calls, size)?);
        live += size;
        if n % 2000 == 0 {
            let now = resident_bytes().saturating_sub(before);
            peak = peak.max(now);
            (sum, samples) = (sum + now, samples + 1);
        }
    }
    let ratio = |bytes: usize| bytes as f64 / live_bytes as f64;
    Ok(json!({"peak": ratio(peak), "mean": ratio(sum / samples.max(1))}))
}

fn resident_bytes() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * PAGE_BYTES
}
