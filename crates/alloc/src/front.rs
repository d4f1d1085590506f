//! libc's rules in front of any heap, so that no heap has to know them: zero sizes, overflow, null pointers,
//! which alignments are refused, what is returned and what errno is set to. [`table`] is the same as a table of C
//! functions with the types of [`SystemHeap`], so hooks that forward to the system's heap can forward to any.
//!
//! | call | rule |
//! |---|---|
//! | malloc(0) | a block |
//! | calloc, reallocarray | a product that overflows is ENOMEM |
//! | realloc(null, n) | malloc; realloc(p, 0) frees and gives null, but for musl's ([`Libc`]) |
//! | realloc that fails | the old block is as it was |
//! | posix_memalign | EINVAL unless a power of two and a multiple of 8; on an error the out pointer stays, and errno unless memory was short |
//! | aligned_alloc, memalign | an alignment that is no power of two is raised to the next, or EINVAL, as the program's libc does ([`Libc`]) |
//! | valloc, pvalloc | at a page; pvalloc has whole pages, at least one |
//! | free | keeps errno; a block of another heap is freed by the heap that served before this one |
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

/// The program's libc, as far as these rules differ.
///
/// | | until glibc 2.37 | glibc | musl |
/// |---|---|---|---|
/// | `aligned_alloc` at no power of two | at the next one | EINVAL | EINVAL, but for 0 |
/// | `memalign` at no power of two | at the next one | at the next one | EINVAL, but for 0 |
/// | `posix_memalign` at no power of two | errno stays | errno stays | errno is set from 8 on |
/// | `realloc(p, 0)` | frees, null | frees, null | a block |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the table says what they are")]
pub enum Libc {
    OldGlibc,
    Glibc,
    Musl,
}

/// What stands between libc's callers and a heap: where the heap is, and where errno is.
pub trait Front: 'static {
    /// What kind of heap.
    type Heap: Heap + ?Sized;
    /// The heap, ready for use.
    fn heap() -> &'static Self::Heap;
    /// The calling thread's errno.
    fn errno() -> *mut c_int;
    /// The heap that served before this one: blocks that are not [`Front::heap`]'s were allocated by it. `None`
    /// when there are none.
    fn previous() -> Option<&'static SystemHeap> {
        None
    }
    /// The program's libc.
    fn libc() -> Libc {
        Libc::Glibc
    }
    /// Called when a request got nothing for want of memory.
    fn on_failure() {}
    /// From how many bytes on a request is a large one.
    const LARGE_BYTES: usize = usize::MAX;
    /// Called when a large request was served.
    fn on_large() {}
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
                F::on_failure();
            }
            // SAFETY: errno of this thread.
            unsafe { F::errno().write(error) };
            null_mut()
        }
    }
}

fn alloc_or_enomem<F: Front>(request: Option<Request>) -> Pointer {
    answer::<F>(request.and_then(alloc::<F>), ENOMEM)
}

#[inline(always)]
fn alloc<F: Front>(request: Request) -> Option<NonNull<u8>> {
    serve::<F>(request, || F::heap().alloc(request))
}

/// Calls the heap for a request. Large ones take another branch before the call, so that others keep nothing in
/// registers over it.
#[inline(always)]
fn serve<F: Front>(request: Request, call: impl FnOnce() -> Option<NonNull<u8>>) -> Option<NonNull<u8>> {
    if request.size_bytes() >= F::LARGE_BYTES { large::<F>(call) } else { call() }
}

#[cold]
#[inline(never)]
fn large<F: Front>(call: impl FnOnce() -> Option<NonNull<u8>>) -> Option<NonNull<u8>> {
    let block = call();
    F::on_large();
    block
}

/// The heap that served before this one, when a block is foreign: that heap's and not this one's.
fn foreign_owner<F: Front>(block: NonNull<u8>) -> Option<&'static SystemHeap> {
    let previous = F::previous()?;
    (F::heap().owns(block.as_ptr()) == Owns::No).then_some(previous)
}

/// # Safety
/// * None: it is unsafe only because of its type in [`SystemHeap`].
unsafe extern "C" fn malloc<F: Front>(size: usize) -> Pointer {
    alloc_or_enomem::<F>(Request::bytes(size))
}

/// # Safety
/// * None, as for `malloc`.
unsafe extern "C" fn calloc<F: Front>(count: usize, size: usize) -> Pointer {
    let zeroed = |request| serve::<F>(request, || F::heap().alloc_zeroed(request));
    answer::<F>(Request::array(count, size).and_then(zeroed), ENOMEM)
}

/// # Safety
/// * Block: `p` is null, or a block of this heap or the previous one that was not freed.
unsafe extern "C" fn free<F: Front>(p: Pointer) {
    let Some(block) = NonNull::new(p.cast()) else { return };
    // SAFETY: errno of this thread. Block: it is freed by the heap that it is of.
    unsafe {
        let errno = F::errno().read();
        match foreign_owner::<F>(block) {
            Some(previous) => (previous.free)(p),
            None => F::heap().free(block),
        }
        F::errno().write(errno);
    }
}

/// # Safety
/// * Block: `p` is null, or a block of this heap or the previous one that was not freed.
unsafe extern "C" fn realloc<F: Front>(p: Pointer, size: usize) -> Pointer {
    let Some(block) = NonNull::new(p.cast::<u8>()) else {
        return alloc_or_enomem::<F>(Request::bytes(size));
    };
    // SAFETY: block: it is given to the heap that it is of.
    unsafe {
        if size == 0 && F::libc() != Libc::Musl {
            free::<F>(p);
            return null_mut();
        }
        let Some(request) = Request::bytes(size) else { return answer::<F>(None, ENOMEM) };
        match foreign_owner::<F>(block) {
            None => answer::<F>(serve::<F>(request, || F::heap().realloc(block, request)), ENOMEM),
            Some(previous) => move_from::<F>(previous, block, request),
        }
    }
}

/// Moves a block of the previous heap into this one.
///
/// # Safety
/// * Block: it is the previous heap's and was not freed.
unsafe fn move_from<F: Front>(previous: &SystemHeap, block: NonNull<u8>, request: Request) -> Pointer {
    let Some(new) = alloc::<F>(request) else { return answer::<F>(None, ENOMEM) };
    // SAFETY: block: its usable size may be read; the new one has at least the request's, and is another.
    unsafe {
        let old: Pointer = block.as_ptr().cast();
        let len = (previous.malloc_usable_size)(old).min(request.size_bytes());
        new.as_ptr().copy_from_nonoverlapping(block.as_ptr(), len);
        (previous.free)(old);
    }
    new.as_ptr().cast()
}

/// # Safety
/// * Out: a pointer may be written there.
unsafe extern "C" fn posix_memalign<F: Front>(out: *mut Pointer, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || !align.is_multiple_of(size_of::<usize>()) {
        if align >= size_of::<usize>() && F::libc() == Libc::Musl {
            // musl's is made of aligned_alloc.
            answer::<F>(None, EINVAL);
        }
        return EINVAL;
    }
    match Request::new(size, align).and_then(alloc::<F>) {
        Some(block) => {
            // SAFETY: out.
            unsafe { out.write(block.as_ptr().cast()) };
            0
        }
        None => {
            answer::<F>(None, ENOMEM);
            ENOMEM
        }
    }
}

/// # Safety
/// * None, as for `malloc`.
unsafe extern "C" fn aligned_alloc<F: Front>(align: usize, size: usize) -> Pointer {
    let is_taken = align.is_power_of_two()
        || match F::libc() {
            Libc::OldGlibc => true,
            Libc::Glibc => false,
            Libc::Musl => align == 0,
        };
    if is_taken { raised::<F>(align, size) } else { answer::<F>(None, EINVAL) }
}

/// # Safety
/// * None, as for `malloc`.
unsafe extern "C" fn memalign<F: Front>(align: usize, size: usize) -> Pointer {
    let is_refused = F::libc() == Libc::Musl && !align.is_power_of_two() && align != 0;
    if is_refused { answer::<F>(None, EINVAL) } else { raised::<F>(align, size) }
}

/// A block at a multiple of the next power of two.
fn raised<F: Front>(align: usize, size: usize) -> Pointer {
    match align.max(ALIGN_MIN).checked_next_power_of_two() {
        Some(align) => alloc_or_enomem::<F>(Request::new(size, align)),
        None => answer::<F>(None, EINVAL),
    }
}

/// # Safety
/// * None, as for `malloc`.
unsafe extern "C" fn valloc<F: Front>(size: usize) -> Pointer {
    alloc_or_enomem::<F>(Request::new(size, PAGE_BYTES))
}

/// # Safety
/// * None, as for `malloc`.
unsafe extern "C" fn pvalloc<F: Front>(size: usize) -> Pointer {
    // heaphook's mask was one short of a page's, and an odd size came out odd.
    let whole = size.max(1).checked_next_multiple_of(PAGE_BYTES);
    alloc_or_enomem::<F>(whole.and_then(|whole| Request::new(whole, PAGE_BYTES)))
}

/// # Safety
/// * Block: `p` is null, or a block of this heap or the previous one that was not freed.
unsafe extern "C" fn malloc_usable_size<F: Front>(p: Pointer) -> usize {
    let Some(block) = NonNull::new(p.cast()) else { return 0 };
    // SAFETY: block: it is given to the heap that it is of.
    unsafe {
        match foreign_owner::<F>(block) {
            Some(previous) => (previous.malloc_usable_size)(p),
            None => F::heap().usable_size(block),
        }
    }
}
