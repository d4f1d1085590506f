//! Histories of blocks, made into programs and run: on a map of what is live, on the pool heap under a shadow heap,
//! on the C library's heap. What the heap then holds is what the history left, and nothing at the end.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;

use heapscribe_alloc::{Heap, Request};
use heapscribe_conformance::ShadowHeap;
use heapscribe_replay::heaps::{Config, PageOptions, TlsfHeap, behind_malloc};
use heapscribe_replay::smallest::{Range, smallest};
use heapscribe_replay::{
    AllocRequest, Birth, Compiled, Compiler, FootprintObserver, Kind, LatencyObserver, OP_BYTES, Op, Point,
    PoolMemory, PoolRun, Program, Tightest, Touch, Unobserved, Variation, floor_bytes, run, run_in_threads,
};
use proptest::prelude::*;

/// What happens to blocks, which are numbered.
#[derive(Clone, Copy, Debug)]
enum Step {
    Alloc(u64, u8),
    Free(u8),
    Realloc(u8, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![0u64..200, 0u64..20_000];
    let align = prop_oneof![8 => Just(0u8), 1 => 4u8..13];
    prop_oneof![
        4 => (size.clone(), align).prop_map(|(size, align)| Step::Alloc(size, align)),
        3 => any::<u8>().prop_map(Step::Free),
        1 => (any::<u8>(), size).prop_map(|(old, size)| Step::Realloc(old, size)),
    ]
}

/// The program of a history, and what is live after it, by a simple map.
fn program(history: &[Step]) -> (Compiled, Vec<u8>, BTreeMap<Birth, u64>) {
    let (mut compiler, mut live) = (Compiler::new(Vec::new(), 10), BTreeMap::new());
    let mut births: Vec<Birth> = Vec::new();
    for (ns, step) in history.iter().enumerate() {
        let ns = ns as u64;
        let known = |n: u8, births: &[Birth]| (!births.is_empty()).then(|| usize::from(n) % births.len());
        let birth = Birth { thread: 1 + ns as u32 % 3, ticks: ns };
        match *step {
            Step::Alloc(size_bytes, align_log2) => {
                let request = AllocRequest { size_bytes, align_log2, zeroed: ns.is_multiple_of(5) };
                compiler.allocated(ns, birth, request).unwrap();
                live.insert(birth, size_bytes);
                births.push(birth);
            }
            Step::Free(n) => {
                let Some(at) = known(n, &births) else { continue };
                let freed = births.swap_remove(at);
                compiler.freed(ns, freed).unwrap();
                live.remove(&freed);
            }
            Step::Realloc(n, size_bytes) => {
                let Some(at) = known(n, &births) else { continue };
                let old = std::mem::replace(&mut births[at], birth);
                compiler.reallocated(ns, old, birth, size_bytes).unwrap();
                live.remove(&old);
                live.insert(birth, size_bytes);
            }
        }
    }
    let (compiled, bytes) = compiler.finish().unwrap();
    (compiled, bytes, live)
}

fn birth(thread: u32, ticks: u64) -> Birth {
    Birth { thread, ticks }
}

fn file(bytes: &[u8]) -> File {
    let path = std::env::temp_dir().join(format!(
        "heapscribe-replay.{}.{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    File::create(&path).unwrap().write_all(bytes).unwrap();
    let file = File::open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    file
}

const UNTOUCHED: PageOptions = PageOptions { prefault: false, lock: false, huge_pages: false };

fn pool_heap(pool_bytes: usize) -> TlsfHeap {
    TlsfHeap::new(Config { pool_bytes, grow_bytes: 0, pages: UNTOUCHED, ..Config::DEFAULT })
}

/// The operations on a heap whose every block is verified.
fn on_shadow(heap: &dyn Heap, bytes: &[u8]) -> Result<(Vec<usize>, u64), String> {
    let (mut shadow, mut slots, mut peak) = (ShadowHeap::new(heap), BTreeMap::new(), 0);
    for op in bytes.chunks_exact(OP_BYTES) {
        match Op::decode(op.try_into().unwrap()).ok_or("no operation")? {
            Op::Alloc { slot, size_bytes, align_log2, zeroed } => {
                let request = Request::new(size_bytes as usize, 1 << align_log2).ok_or("no request")?;
                let block = if zeroed { shadow.alloc_zeroed(request)? } else { shadow.alloc(request)? };
                let before = slots.insert(slot, (block.ok_or("no memory")?, size_bytes));
                assert_eq!(before, None, "a slot that is not empty");
            }
            Op::Free { slot, size_bytes } => {
                let (block, size) = slots.remove(&slot).ok_or("an empty slot")?;
                assert_eq!(size, size_bytes, "the size that was asked for");
                shadow.free(block)?;
            }
            Op::Realloc { slot, size_bytes } => {
                let (block, _) = slots.remove(&slot).ok_or("an empty slot")?;
                let request = Request::bytes(size_bytes as usize).ok_or("no request")?;
                let block = shadow.realloc(block, request)?.ok_or("no memory")?;
                slots.insert(slot, (block, size_bytes));
            }
            Op::Moment { .. } | Op::Thread { .. } | Op::Mark => {}
        }
        peak = peak.max(slots.values().map(|(_, size)| size).sum::<u64>());
    }
    shadow.verify_all()?;
    let left = slots.values().map(|(_, size)| *size as usize).collect();
    shadow.clear()?;
    Ok((left, peak))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_program_leaves_what_its_history_left(history in prop::collection::vec(step(), 0..300)) {
        let (compiled, bytes, live) = program(&history);
        prop_assert_eq!(compiled.ops as usize, bytes.len() / OP_BYTES);
        let heap = pool_heap(16 << 20);
        let (mut left, peak) = on_shadow(&heap, &bytes).unwrap();
        let mut expected: Vec<usize> = live.values().map(|size| *size as usize).collect();
        left.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(&left, &expected);
        prop_assert_eq!(peak, compiled.peak_bytes);
        prop_assert_eq!(compiled.left_bytes as usize, expected.iter().sum::<usize>());
        prop_assert_eq!(heap.stats().blocks, 0);
        prop_assert_eq!(heap.check(), Ok(()));
    }

    /// Pools below the floor are not tried at all, and others without looking: both must have the same result.
    #[test]
    fn a_pool_below_the_floor_does_not_serve(
        history in prop::collection::vec(step(), 0..200),
        seed in 0u64..4,
    ) {
        let (compiled, bytes, _) = program(&history);
        let (file, variation) = (file(&bytes), Variation { seed });
        let program = Program::new(&file, compiled.slots);
        let floor = floor_bytes(&program, variation).unwrap();
        let mut memory = PoolMemory::new(16 << 20).unwrap();
        let large = PoolRun::of(&mut memory, 16 << 20, &program, variation).unwrap();
        prop_assert!(large.is_served() && large.peak_used_bytes >= floor, "{} {:?}", floor, large);
        // Each block has a header of 8 bytes.
        prop_assert!(seed != 0 || floor >= compiled.peak_bytes + 8 * compiled.peak_blocks, "{}", floor);
        for bytes in [floor.saturating_sub(1), floor, floor + floor / 20 + 64, floor * 2 + 4096] {
            let run = PoolRun::of(&mut memory, bytes as usize, &program, variation).unwrap();
            let serves = PoolRun::serves(&mut memory, bytes as usize, &program, variation).unwrap();
            prop_assert_eq!(run.is_served(), serves);
            prop_assert!(!serves || bytes >= floor, "{} serves, the floor is {}", bytes, floor);
        }
    }

    #[test]
    fn a_run_frees_all_in_the_end(history in prop::collection::vec(step(), 0..300)) {
        let (compiled, bytes, live) = program(&history);
        let (file, heap) = (file(&bytes), pool_heap(16 << 20));
        let program = Program::new(&file, compiled.slots);
        for touch in [Touch::Nothing, Touch::Pages, Touch::All] {
            let outcome = run(&heap, &program, touch, &mut Unobserved).unwrap();
            prop_assert_eq!(outcome.calls, compiled.allocs + compiled.frees + compiled.reallocs);
            prop_assert_eq!((outcome.failures, outcome.left_blocks), (0, live.len() as u64));
            prop_assert_eq!((heap.stats().blocks, heap.stats().used_bytes), (0, 0));
        }
        run(&behind_malloc(), &program, Touch::All, &mut Unobserved).unwrap();
        let found = PoolRun::of(&mut PoolMemory::new(16 << 20).unwrap(), 16 << 20, &program, Variation::default()).unwrap();
        prop_assert!(found.is_served() && found.misuses == 0);
        prop_assert_eq!(found.peak_live_bytes, compiled.peak_bytes);
    }

    /// Whatever is in the file: no panic, and all that was allocated is freed.
    #[test]
    fn any_bytes_run_or_are_refused(bytes in prop::collection::vec(prop_oneof![0u8..6, any::<u8>()], 0..800)) {
        let (file, heap) = (file(&bytes), pool_heap(1 << 20));
        let program = Program::new(&file, 1 << 10);
        let _ = run(&heap, &program, Touch::Nothing, &mut Unobserved);
        prop_assert_eq!(heap.stats().blocks, 0);
        let _ = PoolRun::of(&mut PoolMemory::new(1 << 20).unwrap(), 1 << 20, &program, Variation { seed: 1 });
    }
}

/// Two blocks of 1,000 bytes, one after the other freed, then one of 2,008.
fn two_and_one() -> (Compiled, File) {
    let mut compiler = Compiler::new(Vec::new(), 2);
    for n in 1..=2 {
        compiler.allocated(n, birth(1, n), AllocRequest::bytes(1000)).unwrap();
    }
    compiler.freed(3, birth(1, 1)).unwrap();
    compiler.freed(4, birth(1, 2)).unwrap();
    compiler.allocated(5, birth(1, 5), AllocRequest::bytes(2008)).unwrap();
    let (compiled, bytes) = compiler.finish().unwrap();
    (compiled, file(&bytes))
}

/// A block of 1,000 bytes takes 1,008 of the pool, which has 32 in front of its first block.
#[test]
fn the_smallest_pool_is_what_blocks_and_headers_take() {
    let (compiled, file) = two_and_one();
    let (program, mut memory) = (Program::new(&file, compiled.slots), PoolMemory::new(1 << 20).unwrap());
    let range = Range { low_bytes: 0, first_bytes: 4096, most_bytes: 1 << 20, step_bytes: 16 };
    let found = smallest(range, |sizes| {
        let mut serves =
            |bytes: &u64| PoolRun::serves(&mut memory, *bytes as usize, &program, Variation::default());
        sizes.iter().map(&mut serves).collect::<Result<Vec<bool>, _>>()
    });
    let found = found.unwrap().unwrap();
    assert_eq!((found.bytes, found.fails_bytes), (2 * 1008 + 32, 2 * 1008 + 16));
    let run = PoolRun::of(&mut memory, 2048, &program, Variation::default()).unwrap();
    // Both blocks fill the pool to its last byte.
    let tightest = Tightest { used_bytes: 2016, free_bytes: 0, largest_free_bytes: 0 };
    let (peak_live_bytes, peak_used_bytes) = (2008, 2016);
    let expected = PoolRun { calls: 5, peak_live_bytes, peak_used_bytes, tightest, ..PoolRun::default() };
    assert_eq!(run, expected);
    let failed = PoolRun::of(&mut memory, 2032, &program, Variation::default()).unwrap();
    assert_eq!((failed.failed_bytes, failed.calls), (Some(1000), 1));
    assert!(PoolRun::of(&mut memory, (1 << 20) + 16, &program, Variation::default()).is_err());
}

/// What is seen of memory and of time, where it is known beforehand.
#[test]
fn observers_see_what_happened() {
    let (compiled, file) = two_and_one();
    let (program, heap) = (Program::new(&file, compiled.slots), pool_heap(64 << 10));
    let mut watching = FootprintObserver::new(compiled.moments).unwrap();
    let outcome = run(&heap, &program, Touch::All, &mut watching).unwrap();
    assert_eq!((outcome.calls, outcome.peak_live_bytes, outcome.left_blocks), (5, 2008, 1));
    let moments = watching.finish().moments;
    let seen: Vec<_> = moments.iter().map(|m| (m.ns, m.live_bytes, m.free_bytes - m.torn_bytes())).collect();
    // The pool's one block has 64 KiB less 32 bytes; what a request can have of it is 8 less.
    let pool = (64 << 10) - 32;
    assert_eq!(seen, [(2, 1000, pool - 1008 - 8), (4, 1000, pool - 2016 - 8), (5, 2008, pool - 2016 - 8)]);
    let mut timing = LatencyObserver::new().unwrap();
    run(&heap, &program, Touch::All, &mut timing).unwrap();
    let latency = timing.finish();
    let calls: u64 = latency.kinds.iter().map(|(_, timed)| timed.calls).sum();
    assert_eq!(calls + latency.left_out, 5);
    assert!(latency.kinds.iter().all(|(name, timed)| {
        (name == Kind::Alloc.name() || name == Kind::Free.name()) && timed.p50_ns <= timed.max_ns
    }));
}

/// A heap that is full: what could not be had is counted, and later calls for it are not made.
#[test]
fn failures_are_counted() {
    let mut compiler = Compiler::new(Vec::new(), 1000);
    compiler.allocated(1, birth(1, 1), AllocRequest::bytes(1 << 20)).unwrap();
    compiler.allocated(2, birth(1, 2), AllocRequest::bytes(100)).unwrap();
    compiler.reallocated(3, birth(1, 2), birth(1, 3), 1 << 21).unwrap();
    compiler.freed(4, birth(1, 1)).unwrap();
    compiler.freed(5, birth(1, 3)).unwrap();
    let (compiled, bytes) = compiler.finish().unwrap();
    let (file, heap) = (file(&bytes), pool_heap(64 << 10));
    let outcome = run(&heap, &Program::new(&file, compiled.slots), Touch::Pages, &mut Unobserved).unwrap();
    // The block of 1 MiB and the realloc fail; its free is not made, that of the block of 100 bytes is.
    assert_eq!((outcome.calls, outcome.failures, outcome.failed_max_bytes), (4, 2, 1 << 21));
    assert_eq!((outcome.peak_live_bytes, outcome.left_blocks), (100, 0));
}

/// Calls of 40 threads, each of which frees what the one before it has allocated: made by one thread and by 40.
#[test]
fn threads_make_the_same_calls() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let mut compiler = Compiler::new(Vec::new(), 100);
    for ns in 0..4_000u64 {
        compiler.thread(1_000 + (ns / 7 % 40) as u32).unwrap();
        compiler.allocated(ns, birth(1, ns), AllocRequest::bytes(10 + ns % 500)).unwrap();
        if ns % 1000 == 500 {
            compiler.marked(ns).unwrap();
        }
        if ns % 3 != 0 {
            compiler.freed(ns, birth(1, ns.saturating_sub(60))).unwrap();
        }
    }
    let (compiled, bytes) = compiler.finish().unwrap();
    assert_eq!(compiled.threads, 40);
    let file = file(&bytes);
    let program = Program::new(&file, compiled.slots);
    for heap in [&behind_malloc() as &dyn Heap, &pool_heap(8 << 20)] {
        let expected = run(heap, &program, Touch::All, &mut Unobserved).unwrap();
        let [moments, marks] = [0, 0].map(AtomicU64::new);
        let count = |point| match point {
            Point::Moment(number) => moments.store(number, Ordering::Relaxed),
            Point::Mark => _ = marks.fetch_add(1, Ordering::Relaxed),
        };
        let found = run_in_threads(heap, &program, Touch::All, &mut Unobserved, (40, &count)).unwrap();
        assert_eq!(found, expected);
        assert_eq!((moments.into_inner(), marks.into_inner()), (compiled.moments, compiled.marks));
    }
    let e =
        run_in_threads(&behind_malloc(), &program, Touch::All, &mut Unobserved, (39, &|_| {})).unwrap_err();
    assert_eq!(e.to_string(), "a thread that was not announced");
}

/// A damaged file is refused with the place of the damage.
#[test]
fn damage_is_named() {
    let mut bytes = Op::Alloc { slot: 0, size_bytes: 8, align_log2: 0, zeroed: false }.encode().to_vec();
    bytes.extend(Op::Alloc { slot: 7, size_bytes: 8, align_log2: 0, zeroed: false }.encode());
    let (whole, heap) = (file(&bytes), pool_heap(64 << 10));
    let e = run(&heap, &Program::new(&whole, 7), Touch::Pages, &mut Unobserved).unwrap_err();
    assert_eq!(e.to_string(), "no operation at offset 16");
    let e = run(&heap, &Program::new(&file(&bytes[..20]), 8), Touch::Pages, &mut Unobserved).unwrap_err();
    assert_eq!(e.to_string(), "the last operation is cut");
    assert_eq!(heap.stats().blocks, 0);
}
