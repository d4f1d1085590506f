//! A bump allocator, the simplest heap: blocks lie one behind the other, and freed memory is never reused. It shows
//! how a heap is put under a program, and serves programs that end soon.
//!
//! ```text
//! cargo build -p bump-heap
//! heapscribe run --heap target/debug/libbump_heap.so -- ls -l
//! heapscribe record --heap target/debug/libbump_heap.so -- ls -l
//! LD_PRELOAD=target/debug/libbump_heap.so ls -l
//! ```
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use heapscribe_interpose::{Heap, Owns, Request, Start, export, pages};

export! {
    static HEAP: Bump = Bump::new(16 << 30);
    start = Bump::start;
}

/// In front of each block, the bytes that it has.
const HEAD_BYTES: usize = 16;

/// A range of addresses, and how far it is used.
#[derive(Debug)]
pub struct Bump {
    bytes: usize,
    base: AtomicUsize,
    used: AtomicUsize,
}

impl Bump {
    /// A heap of so many bytes, of which only those that are used take memory.
    pub const fn new(bytes: usize) -> Bump {
        Bump { bytes, base: AtomicUsize::new(0), used: AtomicUsize::new(0) }
    }

    /// Reserves the addresses.
    pub fn start(&self) -> Start {
        let Some(room) = pages(self.bytes) else { return Start::Pass };
        self.base.store(room.as_ptr() as usize, Relaxed);
        Start::Ready
    }
}

// SAFETY: each block begins where all that were allocated before end; the head has a size that does not change.
unsafe impl Heap for Bump {
    fn alloc(&self, request: Request) -> Option<NonNull<u8>> {
        let base = self.base.load(Relaxed);
        let (mut at, mut size) = (0, 0);
        // No sum overflows: a request's size and alignment together do not.
        let bump = |used: usize| {
            at = (base + used + HEAD_BYTES).next_multiple_of(request.align_bytes());
            size = request.size_bytes().next_multiple_of(HEAD_BYTES);
            let used = at + size - base;
            (used <= self.bytes).then_some(used)
        };
        self.used.try_update(Relaxed, Relaxed, bump).ok()?;
        let block = NonNull::new(at as *mut u8)?;
        // SAFETY: the head lies in front of the block, in what was just allocated.
        unsafe { block.cast::<usize>().sub(1).write(size) };
        Some(block)
    }

    unsafe fn free(&self, _block: NonNull<u8>) {}

    unsafe fn usable_size(&self, block: NonNull<u8>) -> usize {
        // SAFETY: used, by `Heap::usable_size`: the block is this heap's, and so has a head.
        unsafe { block.cast::<usize>().sub(1).read() }
    }

    fn owns(&self, address: *const u8) -> Owns {
        let offset = (address as usize).wrapping_sub(self.base.load(Relaxed));
        if offset < self.bytes { Owns::Yes } else { Owns::No }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapscribe_conformance::{Traits, heap_conformance};

    const BYTES: usize = 128 << 20;

    heap_conformance!(
        bump,
        started(),
        Traits { capacity_bytes: Some(BYTES), reuses: false, knows_owner: true }
    );

    fn started() -> &'static Bump {
        let heap = Box::leak(Box::new(Bump::new(BYTES)));
        assert!(matches!(heap.start(), Start::Ready));
        heap
    }
}
