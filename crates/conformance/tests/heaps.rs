//! The suite over three heaps: the system's, one that never reuses anything, and the pool heap, by itself and
//! through a table of C functions.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use heapscribe_alloc::locked::{Config, PageOptions, TlsfHeap};
use heapscribe_alloc::system::SystemHeap;
use heapscribe_alloc::vtable::{HeapTable, TableHeap};
use heapscribe_alloc::{Heap, Owns, Request};
use heapscribe_conformance::{Traits, heap_conformance};

heap_conformance!(system, Box::leak(Box::new(system_heap())), Traits { reuses: true, ..Traits::UNKNOWN });
heap_conformance!(
    bump,
    Box::leak(Box::new(Bump::new())),
    Traits { capacity_bytes: Some(BUMP_BYTES), reuses: false, knows_owner: true }
);
heap_conformance!(pools, pools(POOLS), POOL_TRAITS);
heap_conformance!(growing_pools, pools(GROWING), Traits { capacity_bytes: None, ..POOL_TRAITS });
heap_conformance!(small_caches, pools(SMALL_CACHES), POOL_TRAITS);
heap_conformance!(large_caches, pools(LARGE_CACHES), POOL_TRAITS);
heap_conformance!(pools_through_a_table, through_a_table(), POOL_TRAITS);

fn system_heap() -> SystemHeap {
    unsafe extern "C" {
        fn dlsym(handle: *mut c_void, name: *const c_char) -> *const ();
    }
    let find = |name: &CStr| {
        // SAFETY: a look-up by name in the whole program.
        let found = unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) };
        (!found.is_null()).then_some(found)
    };
    // SAFETY: the C library's functions of these names.
    unsafe { SystemHeap::find(find) }.unwrap()
}

const POOL_BYTES: usize = 24 << 20;
const POOLS: Config = Config {
    pool_bytes: POOL_BYTES,
    grow_bytes: 0,
    pages: PageOptions { prefault: false, lock: false, huge_pages: false },
    ..Config::DEFAULT
};
/// Caches, so small that they overflow all the time, and larger than what some tests ask for.
const SMALL_CACHES: Config = Config { cache_bytes: 2 << 10, ..POOLS };
const LARGE_CACHES: Config = Config { cache_bytes: 256 << 10, ..POOLS };
const GROWING: Config = Config { pool_bytes: 4096, grow_bytes: 4096, ..POOLS };
const POOL_TRAITS: Traits = Traits { capacity_bytes: Some(POOL_BYTES), reuses: true, knows_owner: true };

fn pools(config: Config) -> &'static TlsfHeap {
    Box::leak(Box::new(TlsfHeap::new(config)))
}

fn through_a_table() -> &'static TableHeap {
    let table = HeapTable::of(pools(POOLS));
    // SAFETY: the table of a heap.
    Box::leak(Box::new(unsafe { TableHeap::new(&table) }.unwrap()))
}

const BUMP_BYTES: usize = 128 << 20;
/// In front of each block: its size.
const HEAD_BYTES: usize = 16;

/// The simplest heap there is: the next bytes, and nothing is reused. All that it does not write itself is
/// the trait's.
struct Bump {
    base: usize,
    used: AtomicUsize,
}

impl Bump {
    fn new() -> Bump {
        unsafe extern "C" {
            fn mmap(
                at: *mut c_void,
                len: usize,
                access: i32,
                flags: i32,
                fd: i32,
                offset: i64,
            ) -> *mut c_void;
        }
        // SAFETY: new private memory (read and write; private, anonymous, not reserved).
        let base = unsafe { mmap(std::ptr::null_mut(), BUMP_BYTES, 3, 0x4022, -1, 0) } as usize;
        assert_ne!(base, usize::MAX);
        Bump { base, used: AtomicUsize::new(0) }
    }
}

// SAFETY: blocks are cut off by an atomic addition, one behind the other.
unsafe impl Heap for Bump {
    fn alloc(&self, request: Request) -> Option<NonNull<u8>> {
        let mut used = self.used.load(Ordering::Relaxed);
        loop {
            let at = (self.base + used + HEAD_BYTES).checked_next_multiple_of(request.align_bytes())?;
            let end = at.checked_add(request.size_bytes())?.checked_next_multiple_of(16)?;
            if end > self.base + BUMP_BYTES {
                return None;
            }
            let new = end - self.base;
            match self.used.compare_exchange(used, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    let block = NonNull::new(at as *mut u8)?;
                    // SAFETY: the head is before the block, and ours since the exchange.
                    unsafe { block.cast::<usize>().sub(1).write(end - at) };
                    return Some(block);
                }
                Err(other) => used = other,
            }
        }
    }

    unsafe fn free(&self, _block: NonNull<u8>) {}

    unsafe fn usable_size(&self, block: NonNull<u8>) -> usize {
        // SAFETY: the head of a block of ours.
        unsafe { block.cast::<usize>().sub(1).read() }
    }

    fn owns(&self, address: *const u8) -> Owns {
        let is_in = (self.base..self.base + BUMP_BYTES).contains(&(address as usize));
        if is_in { Owns::Yes } else { Owns::No }
    }
}
