//! The program's own heap, behind functions of ours: what the others cost besides their heap.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use heapscribe_shell::{Heap, Request, Start, export};

/// A heap that has nothing and is never asked.
#[derive(Debug)]
struct Nothing;

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

export! {
    static HEAP: Nothing = Nothing;
    start = |_| Start::Pass;
}
