//! A heap without memory, which is never called: a placeholder where the program's own heap serves.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use heapscribe_interpose::{Heap, Request};

/// The heap.
#[derive(Debug)]
pub(crate) struct NullHeap;

// SAFETY: it allocates nothing, so that no block can be wrong.
unsafe impl Heap for NullHeap {
    fn alloc(&self, _request: Request) -> Option<NonNull<u8>> {
        None
    }

    unsafe fn free(&self, _block: NonNull<u8>) {}

    unsafe fn usable_size(&self, _block: NonNull<u8>) -> usize {
        0
    }
}
