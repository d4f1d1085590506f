//! The tests, each a function over any heap. They panic when a heap breaks its contract.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use heapscribe_alloc::{Heap, Owns, Request};
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::shadow::ShadowHeap;
use crate::traits::Traits;
use crate::{fork, program};

type Subject = &'static dyn Heap;

fn request(size: usize, align: usize) -> Request {
    Request::new(size, align).expect("a test asks for what makes sense")
}

fn some(answer: Result<Option<usize>, String>) -> usize {
    answer.unwrap_or_else(|e| panic!("{e}")).expect("there is memory for this")
}

/// Every alignment up to 1 MiB, for small and large blocks.
pub fn alignments(heap: Subject, _: Traits) {
    let mut shadow = ShadowHeap::new(heap);
    for log2 in 0..=20 {
        for size in [1, 24, 1000, 70_000] {
            some(shadow.alloc(request(size, 1 << log2)));
        }
    }
    shadow.verify_all().unwrap();
    shadow.clear().unwrap();
}

/// Every small size, and sizes around every power of two up to 1 MiB.
pub fn sizes(heap: Subject, _: Traits) {
    let mut shadow = ShadowHeap::new(heap);
    (0..600).for_each(|size| _ = some(shadow.alloc(request(size, 1))));
    for log2 in 9..=20 {
        for size in [(1 << log2) - 1, 1 << log2, (1 << log2) + 1] {
            some(shadow.alloc(request(size, 1)));
        }
    }
    shadow.verify_all().unwrap();
    shadow.clear().unwrap();
}

/// What no machine has is refused, also as realloc, and the heap goes on. (heaphook: SEGV at 2^56.)
pub fn impossible_sizes(heap: Subject, _: Traits) {
    let mut shadow = ShadowHeap::new(heap);
    let block = some(shadow.alloc(request(100, 1)));
    for size in [1 << 47, 1 << 48, 1 << 56, isize::MAX as usize - (1 << 21)] {
        for align in [1, 64, 1 << 20] {
            assert_eq!(shadow.alloc(request(size, align)), Ok(None), "{size} at {align}");
        }
        assert_eq!(shadow.alloc_zeroed(request(size, 1)), Ok(None), "{size}");
        assert_eq!(shadow.realloc(block, request(size, 1)), Ok(None), "{size}");
    }
    assert_eq!(shadow.alloc(request(1, 1 << 60)), Ok(None));
    some(shadow.alloc(request(1000, 1)));
    shadow.clear().unwrap();
}

/// Growing and shrinking, in place or not, keeps what fits.
pub fn realloc_keeps_contents(heap: Subject, _: Traits) {
    let mut shadow = ShadowHeap::new(heap);
    let mut block = some(shadow.alloc(request(1, 1)));
    for round in 0..4 {
        for size in [2, 24, 25, 1000, 999, 5000, 100_000, 40, 300_000, 1] {
            block = some(shadow.realloc(block, request(size, 1)));
            // Others in the way, so that it cannot always grow where it is.
            if size % (round + 2) == 0 {
                some(shadow.alloc(request(size / 2 + 1, 1)));
            }
        }
    }
    shadow.verify_all().unwrap();
    shadow.clear().unwrap();
}

/// The same for blocks at other alignments, to other alignments: the bug of heaphook, agnocast and
/// heaphook_rust, in 2000 of 2000 blocks.
pub fn realloc_across_alignments(heap: Subject, _: Traits) {
    let mut shadow = ShadowHeap::new(heap);
    for from in [16, 32, 64, 4096, 1 << 16] {
        for to in [1, 32, 4096, 1 << 16] {
            for (old, new) in [(10, 1000), (1000, 10), (5000, 5001), (3000, 60_000)] {
                let block = some(shadow.alloc(request(old, from)));
                let block = some(shadow.realloc(block, request(new, to)));
                some(shadow.alloc(request(100, 1)));
                shadow.free(block).unwrap();
            }
        }
    }
    shadow.verify_all().unwrap();
    shadow.clear().unwrap();
}

/// Zeros, also where other bytes were before.
pub fn zeroed(heap: Subject, _: Traits) {
    let mut shadow = ShadowHeap::new(heap);
    for size in [1, 24, 100, 4096, 70_000, 300_000] {
        for align in [1, 64, 4096] {
            let dirty = some(shadow.alloc(request(size, align)));
            shadow.free(dirty).unwrap();
            let block = some(shadow.alloc_zeroed(request(size, align)));
            shadow.free(block).unwrap();
        }
    }
}

/// The whole usable size can be written, keeps what was written, and stays the same.
pub fn usable_size_is_writable(heap: Subject, _: Traits) {
    let mut shadow = ShadowHeap::new(heap);
    for size in (1..200).chain([1000, 4097, 123_456]) {
        for align in [1, 256] {
            let at = some(shadow.alloc(request(size, align)));
            let block = NonNull::new(at as *mut u8).expect("not 0");
            // SAFETY: the heap's block; all of it was written by `alloc` of the shadow.
            let (before, after) = unsafe { (heap.usable_size(block), heap.usable_size(block)) };
            assert!(before >= size && before == after, "{size}: {before}, {after}");
        }
    }
    shadow.verify_all().unwrap();
    shadow.clear().unwrap();
}

/// Four threads at once, each with its own blocks. (heaphook: SEGV in 6 of 8 runs, for a map without a lock.)
pub fn four_threads(heap: Subject, _: Traits) {
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            scope.spawn(move || {
                let program = noise(u64::from(thread) + 1, 1200 * program::CALL_BYTES);
                if let Err(e) = program::run(heap, &small(program)) {
                    panic!("thread {thread}: {e}");
                }
                heap.thread_exit();
            });
        }
    });
}

/// Blocks that one thread allocates and another frees.
pub fn blocks_freed_by_other_threads(heap: Subject, _: Traits) {
    let shelf = Mutex::new(Vec::<Shelved>::new());
    std::thread::scope(|scope| {
        for thread in 0..4usize {
            let shelf = &shelf;
            scope.spawn(move || {
                for n in 0..2000 {
                    let size = 8 + (n * 7 + thread * 13) % 400;
                    let align = if n % 5 == 0 { 128 } else { 1 };
                    let block = heap.alloc(request(size, align)).expect("there is memory for this");
                    // SAFETY: a block of this size.
                    unsafe { block.cast::<u64>().write(size as u64) };
                    let other = {
                        let mut shelf = shelf.lock().unwrap();
                        shelf.push(Shelved { address: block.as_ptr() as usize, size });
                        let at = n % shelf.len();
                        (shelf.len() > 16).then(|| shelf.swap_remove(at))
                    };
                    other.into_iter().for_each(|block| free_shelved(heap, block));
                }
            });
        }
    });
    shelf.into_inner().unwrap().into_iter().for_each(|block| free_shelved(heap, block));
}

/// A block on its way from one thread to another.
struct Shelved {
    address: usize,
    size: usize,
}

fn free_shelved(heap: Subject, shelved: Shelved) {
    let Shelved { address, size } = shelved;
    let block = NonNull::new(address as *mut u8).expect("not 0");
    // SAFETY: the heap's block, which was on the shelf once.
    unsafe {
        assert_eq!(block.cast::<u64>().read(), size as u64);
        heap.free(block);
    }
}

/// A child of a program whose threads allocate can allocate too. (heaphook: both libraries hang.)
pub fn fork_while_threads_allocate(heap: Subject, _: Traits) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let is_over = &is_over;
            scope.spawn(move || {
                let mut n = thread;
                while !is_over.load(Ordering::Relaxed) {
                    n += 1;
                    // A heap that never reuses must not run dry meanwhile.
                    if n < 20_000 {
                        use_a_little(heap, 16 + n % 500);
                    }
                }
            });
        }
        let outcome = (0..16).try_for_each(|_| {
            fork::in_child(heap, || (1..200).all(|n| use_a_little(heap, n * 11)))?;
            // And the parent goes on.
            if use_a_little(heap, 99) { Ok(()) } else { Err("the parent got nothing".to_owned()) }
        });
        is_over.store(true, Ordering::Relaxed);
        outcome.unwrap();
    });
}

/// Allocates, writes, resizes, verifies and frees a block, without using any other heap.
fn use_a_little(heap: Subject, size: usize) -> bool {
    let Some(block) = heap.alloc(request(size, 16)) else { return false };
    // SAFETY: the heap's block, of this size and then of twice this size.
    unsafe {
        block.as_ptr().write_bytes(0x5a, size);
        let Some(block) = heap.realloc(block, request(size * 2, 16)) else { return false };
        let is_whole = (0..size).all(|i| block.add(i).read() == 0x5a);
        heap.free(block);
        is_whole
    }
}

/// All that there is can be had, then nothing, then all again.
pub fn exhaustion_and_recovery(heap: Subject, traits: Traits) {
    let Some(capacity) = traits.capacity_bytes else { return };
    let mut counts = Vec::new();
    for size in [60_000, 1000, 60_000] {
        let mut shadow = ShadowHeap::new(heap);
        let mut count = 0;
        while shadow.alloc(request(size, 1)).unwrap().is_some() {
            count += 1;
            assert!(count * size <= capacity + capacity / 4, "more than there is");
        }
        counts.push(count * size);
        assert_eq!(shadow.alloc(request(size, 1)), Ok(None), "still nothing");
        shadow.verify_all().unwrap();
        shadow.clear().unwrap();
        // What a heap caches for a thread may lie between what it would merge.
        heap.thread_exit();
        if !traits.reuses {
            break;
        }
    }
    let enough = capacity / 4 * 3;
    assert!(counts.iter().all(|&bytes| bytes >= enough), "{counts:?} of {capacity}");
    assert_eq!(counts.first(), counts.last(), "what was freed can be had again");
}

/// A heap that knows its own says so to the byte, and disowns others'. (agnocast #1124: one too far.)
pub fn owner(heap: Subject, traits: Traits) {
    let block = heap.alloc(request(100, 1)).expect("there is memory for this");
    assert_ne!(heap.owns(block.as_ptr()), Owns::No);
    if traits.knows_owner {
        let elsewhere = 7u8;
        assert_eq!(heap.owns(block.as_ptr()), Owns::Yes);
        assert_eq!(heap.owns(&raw const elsewhere), Owns::No);
        assert_eq!(heap.owns(std::ptr::null()), Owns::No);
    }
    // SAFETY: the heap's block.
    unsafe { heap.free(block) };
}

/// Random programs, shrunk when one fails.
pub fn random_programs(heap: Subject, _: Traits) {
    use proptest::prelude::any;
    let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let programs = proptest::collection::vec(any::<u8>(), 0..300 * program::CALL_BYTES);
    let outcome = TestRunner::new_with_rng(config, rng).run(&programs, |bytes| {
        program::run(heap, &small(bytes)).map(drop).map_err(proptest::test_runner::TestCaseError::fail)
    });
    if let Err(TestError::Fail(why, program)) = outcome {
        panic!("{why}\nwith the program {program:?}");
    }
}

/// The same program with blocks of 32 KiB at most, so that a heap of a few MiB serves it.
fn small(mut program: Vec<u8>) -> Vec<u8> {
    program.chunks_exact_mut(program::CALL_BYTES).for_each(|call| call[1] %= 8);
    program
}

/// Bytes that are the same each time.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}
