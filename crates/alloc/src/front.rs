//! libc's rules in front of any heap, so that no heap has to know them: zero sizes, overflow, null pointers,
//! which alignments are refused, what comes back and what errno says. [`table`] is the same as a table of C
//! functions with the types of [`SystemHeap`], so hooks that forward to the system's heap can forward to any.
//!
//! | call | rule |
//! |---|---|
//! | malloc(0) | a block |
//! | calloc, reallocarray | a product that overflows is ENOMEM |
//! | realloc(null, n) | malloc; realloc(p, 0) frees and gives null, as glibc does |
//! | realloc that fails | the old block stays |
//! | posix_memalign | EINVAL unless a power of two and a multiple of 8; on an error the out pointer and errno stay |
//! | aligned_alloc | EINVAL unless a power of two |
//! | memalign | an odd alignment is raised to the next power of two, as glibc does |
//! | valloc, pvalloc | at a page; pvalloc has whole pages, at least one |
//! | free | keeps errno; a pointer that is not the heap's goes to who had the heap before |
#![allow(unsafe_code)]

use core::ffi::{c_int, c_void};
use core::ptr::{NonNull, null_mut};

use crate::heap::{Heap, Owns};
use crate::request::{ALIGN_MIN, Request};
use crate::system::SystemHeap;

type Pointer = *mut c_void;

/// Out of memory.
pub const ENOMEM: c_int = 12;
/// An argument that makes no sense.
pub const EINVAL: c_int = 22;
const PAGE_BYTES: usize = 4096;

/// What stands between libc's callers and a heap: where the heap is, and where errno is.
pub trait Front: 'static {
    /// What kind of heap.
    type Heap: Heap + ?Sized;
    /// The heap, ready for use.
    fn heap() -> &'static Self::Heap;
    /// The calling thread's errno.
    fn errno() -> *mut c_int;
    /// The heap that blocks are of which are not [`Front::heap`]'s: those that the program was given before
    /// it was there. `None` when there are none.
    fn before() -> Option<&'static SystemHeap> {
        None
    }
    /// A request got nothing for want of memory.
    fn has_failed() {}
    /// From how many bytes on a request is a large one.
    const LARGE_BYTES: usize = usize::MAX;
    /// A large request was answered.
    fn has_served_large() {}
}

/// The functions of a front.
pub const fn table<F: Front>() -> SystemHeap {
    SystemHeap {
        malloc: malloc::<F>,
        free: free::<F>,
        calloc: calloc::<F>,
        realloc: realloc::<F>,
        posix_memalign: posix_memalign::<F>,
        aligned_alloc: aligned_alloc::<F>,
        memalign: memalign::<F>,
        valloc: Some(valloc::<F>),
        pvalloc: Some(pvalloc::<F>),
        malloc_usable_size: malloc_usable_size::<F>,
    }
}

/// The block, or null and errno.
fn answer<F: Front>(block: Option<NonNull<u8>>, error: c_int) -> Pointer {
    match block {
        Some(block) => block.as_ptr().cast(),
        None => {
            if error == ENOMEM {
                F::has_failed();
            }
            // SAFETY: errno of this thread.
            unsafe { F::errno().write(error) };
            null_mut()
        }
    }
}

fn hand_out<F: Front>(request: Option<Request>) -> Pointer {
    answer::<F>(request.and_then(alloc::<F>), ENOMEM)
}

#[inline(always)]
fn alloc<F: Front>(request: Request) -> Option<NonNull<u8>> {
    serve::<F>(request, || F::heap().alloc(request))
}

/// What the heap gives for a request. Large ones go another way from the beginning, so that others carry nothing
/// over the heap's call.
#[inline(always)]
fn serve<F: Front>(request: Request, ask: impl FnOnce() -> Option<NonNull<u8>>) -> Option<NonNull<u8>> {
    if request.size_bytes() >= F::LARGE_BYTES { large::<F>(ask) } else { ask() }
}

#[cold]
#[inline(never)]
fn large<F: Front>(ask: impl FnOnce() -> Option<NonNull<u8>>) -> Option<NonNull<u8>> {
    let block = ask();
    F::has_served_large();
    block
}

/// Who a block is of, when it is not the heap's.
fn stranger<F: Front>(block: NonNull<u8>) -> Option<&'static SystemHeap> {
    let before = F::before()?;
    (F::heap().owns(block.as_ptr()) == Owns::No).then_some(before)
}

unsafe extern "C" fn malloc<F: Front>(size: usize) -> Pointer {
    hand_out::<F>(Request::bytes(size))
}

unsafe extern "C" fn calloc<F: Front>(count: usize, size: usize) -> Pointer {
    let zeroed = |request| serve::<F>(request, || F::heap().alloc_zeroed(request));
    answer::<F>(Request::array(count, size).and_then(zeroed), ENOMEM)
}

unsafe extern "C" fn free<F: Front>(p: Pointer) {
    let Some(block) = NonNull::new(p.cast()) else { return };
    // SAFETY: errno of this thread; the program's block, to whom it belongs.
    unsafe {
        let errno = F::errno().read();
        match stranger::<F>(block) {
            Some(before) => (before.free)(p),
            None => F::heap().free(block),
        }
        F::errno().write(errno);
    }
}

unsafe extern "C" fn realloc<F: Front>(p: Pointer, size: usize) -> Pointer {
    let Some(block) = NonNull::new(p.cast::<u8>()) else { return hand_out::<F>(Request::bytes(size)) };
    // SAFETY: the program's block, to whom it belongs.
    unsafe {
        if size == 0 {
            free::<F>(p);
            return null_mut();
        }
        let Some(request) = Request::bytes(size) else { return answer::<F>(None, ENOMEM) };
        let Some(before) = stranger::<F>(block) else {
            return answer::<F>(serve::<F>(request, || F::heap().realloc(block, request)), ENOMEM);
        };
        // From one heap to the other.
        let Some(new) = alloc::<F>(request) else { return answer::<F>(None, ENOMEM) };
        let len = (before.malloc_usable_size)(p).min(size);
        new.as_ptr().copy_from_nonoverlapping(block.as_ptr(), len);
        (before.free)(p);
        new.as_ptr().cast()
    }
}

unsafe extern "C" fn posix_memalign<F: Front>(out: *mut Pointer, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        return EINVAL;
    }
    match Request::new(size, align).and_then(alloc::<F>) {
        Some(block) => {
            // SAFETY: the caller's place for the block.
            unsafe { out.write(block.as_ptr().cast()) };
            0
        }
        None => {
            F::has_failed();
            ENOMEM
        }
    }
}

unsafe extern "C" fn aligned_alloc<F: Front>(align: usize, size: usize) -> Pointer {
    if !align.is_power_of_two() {
        return answer::<F>(None, EINVAL);
    }
    hand_out::<F>(Request::new(size, align))
}

unsafe extern "C" fn memalign<F: Front>(align: usize, size: usize) -> Pointer {
    match align.max(ALIGN_MIN).checked_next_power_of_two() {
        Some(align) => hand_out::<F>(Request::new(size, align)),
        None => answer::<F>(None, EINVAL),
    }
}

unsafe extern "C" fn valloc<F: Front>(size: usize) -> Pointer {
    hand_out::<F>(Request::new(size, PAGE_BYTES))
}

unsafe extern "C" fn pvalloc<F: Front>(size: usize) -> Pointer {
    // heaphook's mask was one short of a page's, and an odd size came out odd.
    let whole = size.max(1).checked_next_multiple_of(PAGE_BYTES);
    hand_out::<F>(whole.and_then(|whole| Request::new(whole, PAGE_BYTES)))
}

unsafe extern "C" fn malloc_usable_size<F: Front>(p: Pointer) -> usize {
    let Some(block) = NonNull::new(p.cast()) else { return 0 };
    // SAFETY: the program's block, to whom it belongs.
    unsafe {
        match stranger::<F>(block) {
            Some(before) => (before.malloc_usable_size)(p),
            None => F::heap().usable_size(block),
        }
    }
}
