//! The system heap: the functions that the program would have called, had we not been loaded.
//!
//! They are found by walking symbol tables, not by `dlsym`, which may itself allocate (LeakTracer #14)
//! or want the loader's lock (agnocast #1211); here they are only a table of addresses. Calls are
//! forwarded as they are, so that zero sizes, overflow, errno and alignment are the heap's own. What a
//! libc does not have gets a stand-in built from what it has: musl has no `pvalloc` and no `cfree`,
//! glibc before 2.43 no `free_sized`.
#![allow(unsafe_code)]

use core::ffi::{CStr, c_int, c_void};
use core::ptr::NonNull;

use crate::heap::Heap;
use crate::request::{ALIGN_MIN, Request};

type Pointer = *mut c_void;
const PAGE_BYTES: usize = 4096;

/// Addresses of a heap's functions. `None` where the heap has no such function.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each is the function of that name in the C library")]
pub struct SystemHeap {
    pub malloc: unsafe extern "C" fn(usize) -> Pointer,
    pub free: unsafe extern "C" fn(Pointer),
    pub calloc: unsafe extern "C" fn(usize, usize) -> Pointer,
    pub realloc: unsafe extern "C" fn(Pointer, usize) -> Pointer,
    pub posix_memalign: unsafe extern "C" fn(*mut Pointer, usize, usize) -> c_int,
    pub aligned_alloc: unsafe extern "C" fn(usize, usize) -> Pointer,
    pub memalign: unsafe extern "C" fn(usize, usize) -> Pointer,
    pub valloc: Option<unsafe extern "C" fn(usize) -> Pointer>,
    pub pvalloc: Option<unsafe extern "C" fn(usize) -> Pointer>,
    pub malloc_usable_size: unsafe extern "C" fn(Pointer) -> usize,
}

impl SystemHeap {
    /// Fills the table from `lookup`, which gives the address of a function by its name; `None` when one
    /// of those that every libc has is missing.
    ///
    /// # Safety
    /// * Signatures: what `lookup` gives for a name is a function of the C library's signature for that name.
    #[allow(clippy::missing_transmute_annotations, reason = "the types stand in the struct")]
    pub unsafe fn find(lookup: impl Fn(&CStr) -> Option<*const ()>) -> Option<SystemHeap> {
        use core::mem::transmute;
        // SAFETY: signatures: each address is a function of that name and so of that type.
        unsafe {
            Some(SystemHeap {
                malloc: transmute(lookup(c"malloc")?),
                free: transmute(lookup(c"free")?),
                calloc: transmute(lookup(c"calloc")?),
                realloc: transmute(lookup(c"realloc")?),
                posix_memalign: transmute(lookup(c"posix_memalign")?),
                aligned_alloc: transmute(lookup(c"aligned_alloc")?),
                memalign: transmute(lookup(c"memalign")?),
                valloc: lookup(c"valloc").map(|f| transmute(f)),
                pvalloc: lookup(c"pvalloc").map(|f| transmute(f)),
                malloc_usable_size: transmute(lookup(c"malloc_usable_size")?),
            })
        }
    }
}

impl SystemHeap {
    /// `valloc`, or what does the same where a heap has none.
    ///
    /// # Safety
    /// * Heap: the functions of the table are those of one heap.
    pub unsafe fn valloc_or_memalign(&self, size: usize) -> Pointer {
        // SAFETY: heap: each takes any size.
        unsafe { self.valloc.map_or_else(|| (self.memalign)(PAGE_BYTES, size), |valloc| valloc(size)) }
    }

    /// `pvalloc`, or what does the same where a heap has none, as musl's: whole pages, at least one. A size that
    /// can not be rounded up is one that no heap has.
    ///
    /// # Safety
    /// * Heap: the functions of the table are those of one heap.
    pub unsafe fn pvalloc_or_memalign(&self, size: usize) -> Pointer {
        let whole = size.max(1).checked_next_multiple_of(PAGE_BYTES).unwrap_or(usize::MAX);
        // SAFETY: heap: each takes any size.
        unsafe { self.pvalloc.map_or_else(|| (self.memalign)(PAGE_BYTES, whole), |pvalloc| pvalloc(size)) }
    }
}

// SAFETY: the C library's own promises; its heap may be called from any thread, and it sees to forks itself.
unsafe impl Heap for SystemHeap {
    fn alloc(&self, request: Request) -> Option<NonNull<u8>> {
        let (size, align) = (request.size_bytes(), request.align_bytes());
        // SAFETY: the C library's functions, with arguments that they take.
        let block =
            unsafe { if align == ALIGN_MIN { (self.malloc)(size) } else { (self.memalign)(align, size) } };
        NonNull::new(block.cast())
    }

    fn alloc_zeroed(&self, request: Request) -> Option<NonNull<u8>> {
        if request.align_bytes() == ALIGN_MIN {
            // SAFETY: the C library's function, with arguments that it takes.
            return NonNull::new(unsafe { (self.calloc)(1, request.size_bytes()) }.cast());
        }
        let block = self.alloc(request)?;
        // SAFETY: just allocated with at least this size, and nobody else's yet.
        unsafe { block.as_ptr().write_bytes(0, request.size_bytes()) };
        Some(block)
    }

    unsafe fn free(&self, block: NonNull<u8>) {
        // SAFETY: the block is this heap's and was not freed, by `Heap::free`.
        unsafe { (self.free)(block.as_ptr().cast()) };
    }

    unsafe fn usable_size(&self, block: NonNull<u8>) -> usize {
        // SAFETY: the block is this heap's and was not freed, by `Heap::usable_size`.
        unsafe { (self.malloc_usable_size)(block.as_ptr().cast()) }
    }

    unsafe fn realloc(&self, block: NonNull<u8>, request: Request) -> Option<NonNull<u8>> {
        // SAFETY: the block is this heap's and was not freed, by `Heap::realloc`.
        unsafe {
            if request.align_bytes() == ALIGN_MIN {
                return NonNull::new((self.realloc)(block.as_ptr().cast(), request.size_bytes()).cast());
            }
            let usable = self.usable_size(block);
            self.relocate(block, usable, request)
        }
    }
}
