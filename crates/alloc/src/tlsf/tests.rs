//! The heap by itself, on memory of the tests: what it guarantees, checked after every step by its own check and
//! against what blocks hold.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

use super::*;
use crate::request::Request;

/// A heap with one pool, checked when it ends.
struct Lab {
    heap: Tlsf,
    areas: Vec<(NonNull<u8>, Layout)>,
}

impl Lab {
    fn new(pool_bytes: usize) -> Lab {
        let mut lab = Lab { heap: Tlsf::new(), areas: Vec::new() };
        assert!(lab.add(pool_bytes));
        lab
    }

    fn add(&mut self, pool_bytes: usize) -> bool {
        let layout = Layout::from_size_align(pool_bytes.max(1), 4096).unwrap();
        // SAFETY: not of size 0; freed after the heap's last use.
        unsafe {
            let area = NonNull::new(alloc(layout)).unwrap();
            self.areas.push((area, layout));
            self.heap.add_pool(area, pool_bytes)
        }
    }

    fn alloc(&mut self, size: usize, align: usize) -> Option<NonNull<u8>> {
        let block = self.heap.alloc(Request::new(size, align).unwrap());
        self.heap.check().unwrap();
        if let Some(block) = block {
            assert_eq!(block.as_ptr() as usize % align.max(16), 0);
            // SAFETY: ours, just allocated.
            unsafe { assert!(Tlsf::usable_size(block) >= size) };
        }
        block
    }

    fn free(&mut self, block: NonNull<u8>) {
        // SAFETY: the tests free what they got.
        unsafe { self.heap.free(block) };
        self.heap.check().unwrap();
    }

    fn resize(&mut self, block: NonNull<u8>, size: usize) -> bool {
        // SAFETY: as for `free`.
        let done = unsafe { self.heap.resize(block, Request::bytes(size).unwrap()) };
        self.heap.check().unwrap();
        done
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // SAFETY: allocated with these layouts; the heap is not used any more.
        self.areas.drain(..).for_each(|(area, layout)| unsafe { dealloc(area.as_ptr(), layout) });
    }
}

const POOL: usize = 1 << 20;

#[test]
fn a_block_costs_eight_bytes_and_lies_at_a_multiple_of_sixteen() {
    for (size, usable) in [(1, 24), (24, 24), (25, 40), (40, 40), (100, 104), (4096, 4104)] {
        let mut lab = Lab::new(POOL);
        let first = lab.alloc(size, 1).unwrap();
        let second = lab.alloc(size, 1).unwrap();
        assert_eq!(second.as_ptr() as usize - first.as_ptr() as usize, usable + 8, "{size}");
        // SAFETY: ours.
        unsafe { assert_eq!(Tlsf::usable_size(first), usable) };
    }
}

#[test]
fn a_whole_pool_is_one_block_again_after_all_is_freed_in_any_order() {
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3], [1, 3, 0, 2]] {
        let mut lab = Lab::new(POOL);
        let before = lab.heap.stats();
        let blocks = [100, 5000, 64, 1].map(|size| lab.alloc(size, 1).unwrap());
        order.into_iter().for_each(|i| lab.free(blocks[i]));
        let after = lab.heap.stats();
        assert_eq!((after.free_blocks, after.used_bytes, after.blocks), (1, 0, 0));
        assert_eq!(after.largest_free_bytes, before.largest_free_bytes);
    }
}

#[test]
fn the_largest_free_block_can_be_had_whole() {
    // rlsf gives 98.4 to 99.6 % of a fresh pool at most, because it rounds up to a class.
    for pool in [64, 4096, 1 << 20, (1 << 20) + 4080, 3_333_333] {
        let mut lab = Lab::new(pool);
        let largest = lab.heap.stats().largest_free_bytes as usize;
        assert!(largest >= pool - 64 && largest >= 24, "{largest} of {pool}");
        assert!(lab.alloc(largest + 1, 1).is_none());
        let block = lab.alloc(largest, 1).unwrap();
        assert_eq!(lab.heap.stats().free_bytes, 0);
        lab.free(block);
    }
}

#[test]
fn the_gap_before_an_aligned_block_is_given_back() {
    // 64 MiB filled with 4096 at 4096: rlsf has room for 7 more blocks of 1000 bytes, mattconte's for 32769.
    let mut lab = Lab::new(8 << 20);
    let request = Request::new(4096, 4096).unwrap();
    let mut aligned = 0;
    while lab.heap.alloc(request).is_some() {
        aligned += 1;
    }
    let mut small = 0;
    while lab.heap.alloc(Request::bytes(1000).unwrap()).is_some() {
        small += 1;
    }
    lab.heap.check().unwrap();
    assert!(aligned >= 1020 && small >= 3 * aligned, "{aligned} aligned, then {small} of 1000 bytes");
}

#[test]
fn any_alignment_from_any_address() {
    let mut lab = Lab::new(8 << 20);
    for shift in 0..40 {
        let before = lab.alloc(16 * shift + 1, 1).unwrap();
        for log2 in 0..=20 {
            let block = lab.alloc(33, 1 << log2).unwrap();
            lab.free(block);
        }
        lab.free(before);
        assert_eq!(lab.heap.stats().free_blocks, 1);
    }
}

#[test]
fn a_block_grows_into_the_free_one_behind_it_and_gives_back_what_it_loses() {
    let mut lab = Lab::new(POOL);
    let (block, behind) = (lab.alloc(1000, 1).unwrap(), lab.alloc(1000, 1).unwrap());
    let fence = lab.alloc(16, 1).unwrap();
    assert!(!lab.resize(block, 1100), "the one behind is used");
    lab.free(behind);
    assert!(lab.resize(block, 2000));
    assert!(!lab.resize(block, 2100), "the fence is used");
    let free = lab.heap.stats().free_bytes;
    assert!(lab.resize(block, 100));
    assert_eq!(lab.heap.stats().free_bytes, free + 1904);
    assert!(lab.resize(block, 104), "within the same granules");
    lab.free(block);
    lab.free(fence);
    assert_eq!(lab.heap.stats().free_blocks, 1);
}

#[test]
fn an_over_aligned_request_is_not_met_by_a_block_that_happens_to_be_large_enough() {
    let mut lab = Lab::new(POOL);
    let block = lab.alloc(100, 1).unwrap();
    let is_there = (block.as_ptr() as usize).is_multiple_of(4096);
    // SAFETY: ours.
    let done = unsafe { lab.heap.resize(block, Request::new(50, 4096).unwrap()) };
    assert_eq!(done, is_there);
}

#[test]
fn pools_are_added_and_blocks_lie_in_either() {
    let mut lab = Lab::new(4096);
    assert!(lab.alloc(8000, 1).is_none());
    assert!(lab.add(pool_bytes_for(Request::bytes(8000).unwrap()).unwrap()));
    let block = lab.alloc(8000, 1).unwrap();
    // SAFETY: the lab's heap.
    unsafe { assert!(Tlsf::owns(&lab.heap, block.as_ptr() as usize) && !Tlsf::owns(&lab.heap, 0)) };
    assert!(lab.alloc(3000, 1).is_some(), "the first is still there");
    let stats = lab.heap.stats();
    assert_eq!((stats.pools, stats.blocks, stats.failures), (2, 2, 1));
    assert!(!lab.add(POOL_BYTES_MIN - 16), "too small for any block");
    assert!(lab.add(POOL_BYTES_MIN));
}

#[test]
fn a_pool_of_the_size_that_is_said_serves_its_request_wherever_it_lies() {
    for (size, align) in [(1, 16), (1000, 16), (1000, 32), (5, 4096), (100_000, 1 << 16), (1 << 20, 1 << 20)]
    {
        let request = Request::new(size, align).unwrap();
        let len = pool_bytes_for(request).unwrap();
        let area = vec![0u8; len + 64];
        for skew in [0, 1, 8, 15, 16, 33] {
            let mut heap = Tlsf::new();
            // SAFETY: `area` outlives the heap, and the skewed part lies in it.
            unsafe { assert!(heap.add_pool(NonNull::new(area.as_ptr().cast_mut().add(skew)).unwrap(), len)) };
            assert!(heap.alloc(request).is_some(), "{size} at {align}, skew {skew}");
            heap.check().unwrap();
        }
    }
    assert_eq!(pool_bytes_for(Request::bytes(1 << 56).unwrap()), None);
}

#[test]
fn what_can_never_fit_is_none_at_once() {
    let mut lab = Lab::new(POOL);
    for size in [POOL, 1 << 40, 1 << 48, 1 << 56, isize::MAX as usize - 16] {
        assert!(lab.alloc(size, 1).is_none(), "{size}");
    }
    assert!(lab.alloc(1, 1 << 60).is_none());
    assert!(lab.alloc(1000, 1).is_some());
}

#[test]
#[should_panic(expected = "freed twice")]
#[cfg(debug_assertions)]
fn a_double_free_ends_a_debug_build() {
    let mut lab = Lab::new(POOL);
    let block = lab.alloc(100, 1).unwrap();
    lab.free(block);
    lab.free(block);
}

#[test]
#[should_panic(expected = "after it was freed")]
#[cfg(debug_assertions)]
fn a_write_after_free_ends_a_debug_build() {
    let mut lab = Lab::new(POOL);
    let (block, _fence) = (lab.alloc(200, 1).unwrap(), lab.alloc(1, 1).unwrap());
    lab.free(block);
    // SAFETY: not allowed, which is what is to be found; the memory is the lab's.
    unsafe { block.as_ptr().add(40).write(1) };
    lab.alloc(200, 1);
}

#[test]
fn the_check_finds_what_is_broken() {
    let mut lab = Lab::new(POOL);
    let (block, next) = (lab.alloc(100, 1).unwrap(), lab.alloc(100, 1).unwrap());
    // SAFETY: breaks the header of a block of the lab's.
    unsafe {
        let header = next.cast::<usize>().sub(1);
        let whole = header.read();
        header.write(whole | 2);
        assert_eq!(lab.heap.check(), Err(Flaw::Previous(next.as_ptr() as usize)));
        header.write(1 << 40);
        assert_eq!(lab.heap.check(), Err(Flaw::Size(next.as_ptr() as usize)));
        header.write(whole | 1);
        assert!(lab.heap.check().is_err());
        header.write(whole);
    }
    lab.heap.check().unwrap();
    lab.free(block);
}

#[test]
fn a_walk_sees_every_byte_once() {
    let mut lab = Lab::new(POOL);
    let blocks: Vec<_> = (1..50).map(|n| lab.alloc(n * 37, 1 << (n % 9)).unwrap()).collect();
    blocks.iter().step_by(3).for_each(|&block| lab.free(block));
    let (mut all, mut used) = (0, 0);
    lab.heap.walk(|block| {
        all += block.size_bytes as u64 + 8;
        used += u64::from(block.is_used);
    });
    let stats = lab.heap.stats();
    assert_eq!((all, used), (stats.pool_bytes, stats.blocks));
    assert!(stats.fragmentation_per_mille() > 0);
}
