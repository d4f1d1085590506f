//! A heap that has nothing and is never asked: what stands where the program's own heap serves.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use heapscribe_interpose::{Heap, Request};

/// The heap.
#[derive(Debug)]
pub(crate) struct Nothing;

// SAFETY: it hands out nothing, so nothing can be wrong with it.
unsafe impl Heap for Nothing {
    fn alloc(&self, _request: Request) -> Option<NonNull<u8>> {
        None
    }

    unsafe fn free(&self, _block: NonNull<u8>) {}

    unsafe fn usable_size(&self, _block: NonNull<u8>) -> usize {
        0
    }
}
