//! libc's rules in front of the pool heap, each row a rule that some heap once broke.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use heapscribe_alloc::front::{EINVAL, ENOMEM, Front, table};
use heapscribe_alloc::locked::{Config, PageOptions, TlsfHeap};
use heapscribe_alloc::system::SystemHeap;
use heapscribe_alloc::{Heap, Request};

static POOLS: TlsfHeap = TlsfHeap::new(Config {
    pool_bytes: 8 << 20,
    grow_bytes: 0,
    pages: PageOptions { prefault: false, lock: false, huge_pages: false },
    ..Config::DEFAULT
});

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
    fn dlsym(handle: *mut c_void, name: *const std::ffi::c_char) -> *const ();
}

/// The pool heap; the heap before it is the system's.
struct Pools;

impl Front for Pools {
    type Heap = TlsfHeap;

    fn heap() -> &'static TlsfHeap {
        &POOLS
    }

    fn errno() -> *mut c_int {
        // SAFETY: libc's.
        unsafe { __errno_location() }
    }

    fn previous() -> Option<&'static SystemHeap> {
        static SYSTEM: OnceLock<SystemHeap> = OnceLock::new();
        Some(SYSTEM.get_or_init(|| {
            let find = |name: &std::ffi::CStr| {
                // SAFETY: a look-up by name in the whole program.
                let found = unsafe { dlsym(null_mut(), name.as_ptr()) };
                (!found.is_null()).then_some(found)
            };
            // SAFETY: the C library's functions of these names.
            unsafe { SystemHeap::find(find) }.unwrap()
        }))
    }
}

const LIBC: SystemHeap = table::<Pools>();

/// Makes a call with errno 77 and checks its result: whether there is a block, and errno.
fn check(call: impl FnOnce() -> *mut c_void, has_block: bool, errno: c_int) {
    // SAFETY: errno of this thread, and a block of the heap.
    unsafe {
        *__errno_location() = 77;
        let block = call();
        assert_eq!((!block.is_null(), *__errno_location()), (has_block, errno));
        assert_eq!(block as usize % 16, 0);
        (LIBC.free)(block);
        assert_eq!(*__errno_location(), errno, "free keeps errno");
    }
}

#[test]
fn sizes_of_zero_and_beyond_all_memory() {
    // SAFETY: calls of the heap's own functions.
    unsafe {
        check(|| (LIBC.malloc)(0), true, 77);
        check(|| (LIBC.calloc)(0, 5), true, 77);
        check(|| (LIBC.realloc)(null_mut(), 0), true, 77);
        for size in [1 << 30, 1 << 56, isize::MAX as usize, usize::MAX] {
            check(|| (LIBC.malloc)(size), false, ENOMEM);
            check(|| (LIBC.realloc)(null_mut(), size), false, ENOMEM);
            check(|| (LIBC.memalign)(64, size), false, ENOMEM);
            check(|| (LIBC.pvalloc.unwrap())(size), false, ENOMEM);
        }
        check(|| (LIBC.calloc)(1 << 33, 1 << 33), false, ENOMEM);
        check(|| (LIBC.calloc)(usize::MAX, 2), false, ENOMEM);
    }
}

#[test]
fn alignments() {
    // SAFETY: calls of the heap's own functions.
    unsafe {
        for align in [1, 2, 4, 8, 16, 64, 4096, 1 << 20] {
            check(|| (LIBC.aligned_alloc)(align, 5), true, 77);
        }
        check(|| (LIBC.aligned_alloc)(24, 5), false, EINVAL);
        check(|| (LIBC.aligned_alloc)(0, 5), false, EINVAL);
        check(|| (LIBC.memalign)(24, 5), true, 77);
        check(|| (LIBC.memalign)(0, 5), true, 77);
        check(|| (LIBC.memalign)(usize::MAX / 2 + 2, 5), false, EINVAL);
        check(|| (LIBC.memalign)(1 << 63, 5), false, ENOMEM);
    }
}

#[test]
fn posix_memalign_answers_by_its_result() {
    for (align, size, expected) in
        [(8, 0, 0), (64, 100, 0), (4, 100, EINVAL), (24, 100, EINVAL), (0, 1, EINVAL), (64, 1 << 56, ENOMEM)]
    {
        let nobody = std::ptr::dangling_mut::<c_void>();
        let mut out = nobody;
        // SAFETY: a call of the heap's own function; the block is its.
        unsafe {
            *__errno_location() = 77;
            assert_eq!((LIBC.posix_memalign)(&mut out, align, size), expected, "{size} at {align}");
            assert_eq!(*__errno_location(), if expected == ENOMEM { ENOMEM } else { 77 });
            assert_eq!(out == nobody, expected != 0, "written only when there is a block");
            if expected == 0 {
                (LIBC.free)(out);
            }
        }
    }
}

/// Remembers what it was asked for last; a usable size may be larger and does not tell.
struct Remembering(AtomicUsize);

// SAFETY: blocks are the pool heap's.
unsafe impl Heap for Remembering {
    fn alloc(&self, request: Request) -> Option<NonNull<u8>> {
        self.0.store(request.size_bytes(), Ordering::Relaxed);
        POOLS.alloc(request)
    }

    unsafe fn free(&self, block: NonNull<u8>) {
        // SAFETY: the block is the pool heap's, by `Heap::free`.
        unsafe { POOLS.free(block) };
    }

    unsafe fn usable_size(&self, block: NonNull<u8>) -> usize {
        // SAFETY: the block is the pool heap's, by `Heap::usable_size`.
        unsafe { POOLS.usable_size(block) }
    }
}

static REMEMBERING: Remembering = Remembering(AtomicUsize::new(0));
struct Remembered;

impl Front for Remembered {
    type Heap = Remembering;

    fn heap() -> &'static Remembering {
        &REMEMBERING
    }

    fn errno() -> *mut c_int {
        Pools::errno()
    }

    fn previous() -> Option<&'static SystemHeap> {
        Pools::previous()
    }
}

#[test]
fn pvalloc_has_whole_pages() {
    const WHOLE: [(usize, usize); 7] =
        [(0, 4096), (1, 4096), (2, 4096), (4096, 4096), (4097, 8192), (4098, 8192), (10_001, 12_288)];
    let calls: SystemHeap = table::<Remembered>();
    for (size, whole) in WHOLE {
        // SAFETY: calls of the heap's own functions.
        unsafe {
            let block = (calls.pvalloc.unwrap())(size);
            assert_eq!(block as usize % 4096, 0);
            assert_eq!(REMEMBERING.0.load(Ordering::Relaxed), whole, "{size}");
            assert!((calls.malloc_usable_size)(block) >= whole, "{size}");
            (calls.free)(block);
        }
    }
    // Sums as heaphook's, with a wrong mask, would be seen.
    let heaphooks = |size: usize| (size.max(1) + 4095) & 4095_usize.wrapping_neg();
    assert!(WHOLE.iter().any(|&(size, whole)| heaphooks(size) != whole));
}

#[test]
fn realloc_frees_keeps_and_moves() {
    // SAFETY: calls of the heap's own functions, and its blocks.
    unsafe {
        let block = (LIBC.malloc)(100).cast::<u8>();
        block.write_bytes(9, 100);
        *__errno_location() = 77;
        assert!((LIBC.realloc)(block.cast(), 1 << 50).is_null());
        assert_eq!(*__errno_location(), ENOMEM);
        let block = (LIBC.realloc)(block.cast(), 100_000).cast::<u8>();
        assert!((0..100).all(|i| block.add(i).read() == 9), "what failed left the block alone");
        assert!((LIBC.realloc)(block.cast(), 0).is_null(), "as glibc: freed");
    }
}

#[test]
fn foreign_blocks_are_freed_by_the_previous_heap() {
    let system = Pools::previous().unwrap();
    // SAFETY: calls of both heaps' functions, and their blocks.
    unsafe {
        let old = (system.malloc)(100).cast::<u8>();
        old.write_bytes(5, 100);
        assert!((LIBC.malloc_usable_size)(old.cast()) >= 100);
        let new = (LIBC.realloc)(old.cast(), 200).cast::<u8>();
        assert!((0..100).all(|i| new.add(i).read() == 5));
        (LIBC.free)(new.cast());
        (LIBC.free)((system.malloc)(10));
        assert_eq!((LIBC.malloc_usable_size)(null_mut()), 0);
    }
}
