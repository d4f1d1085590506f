//! The trait that a heap under a program implements, be it ours, the system's, or a plug-in's.
//!
//! All that libc promises beyond it - zero sizes, overflow, errno, the odd functions - is done in front of it
//! ([`crate::front`]), so an implementation is three functions and whatever else it can do better itself.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use crate::request::Request;
use crate::stats::Stats;

/// Whether a block is a heap's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owns {
    /// It is not.
    No,
    /// It is.
    Yes,
    /// The heap cannot tell.
    Unknown,
}

/// A heap. Any thread may call any function at any time.
///
/// # Safety
/// * A block is at least as large and as aligned as was asked, writable over its whole usable size, and
///   shares no byte with another block until it is freed.
/// * Its usable size stays the same until it is resized or freed.
/// * Nothing here panics, and nothing here calls the program's own `malloc`: that may be this heap.
pub unsafe trait Heap: Sync {
    /// Allocates a block; `None` when there is no memory for it. Its contents are anything.
    fn alloc(&self, request: Request) -> Option<NonNull<u8>>;

    /// Frees a block. errno may change; the caller restores it.
    ///
    /// # Safety
    /// * Used: `block` was allocated by this heap and was not freed.
    unsafe fn free(&self, block: NonNull<u8>);

    /// The bytes that may be used at `block`: at least those asked for.
    ///
    /// # Safety
    /// * Used: as for [`Heap::free`].
    unsafe fn usable_size(&self, block: NonNull<u8>) -> usize;

    /// Allocates a block of zeros over the size asked for.
    fn alloc_zeroed(&self, request: Request) -> Option<NonNull<u8>> {
        let block = self.alloc(request)?;
        // SAFETY: the block was just allocated with at least this size, and is nobody else's yet.
        unsafe { block.as_ptr().write_bytes(0, request.size_bytes()) };
        Some(block)
    }

    /// Resizes a block, or moves it: returns a block of the size and alignment asked for that begins with what
    /// `block` held, which is freed if it is another; or `None`, and `block` is as it was.
    ///
    /// # Safety
    /// * Used: as for [`Heap::free`].
    unsafe fn realloc(&self, block: NonNull<u8>, request: Request) -> Option<NonNull<u8>> {
        // SAFETY: used.
        let usable = unsafe { self.usable_size(block) };
        let size = request.size_bytes();
        // In place unless most of it would be unused: heaphook's default never shrank anything.
        if size <= usable && size >= usable / 2 && request.is_aligned(block.as_ptr() as usize) {
            return Some(block);
        }
        // SAFETY: used; its usable size may be read.
        unsafe { self.relocate(block, usable, request) }
    }

    /// Moves a block whatever its size: what remains when it cannot stay where it is. `usable` is its usable
    /// size.
    ///
    /// # Safety
    /// * Used: as for [`Heap::free`].
    /// * Readable: at least `usable` bytes may be read at `block`.
    unsafe fn relocate(&self, block: NonNull<u8>, usable: usize, request: Request) -> Option<NonNull<u8>> {
        let new = self.alloc(request)?;
        let len = usable.min(request.size_bytes());
        // SAFETY: readable: `len` bytes are there, and in the new block, which is another, too. Used: the old one
        // is freed once.
        unsafe {
            new.as_ptr().copy_from_nonoverlapping(block.as_ptr(), len);
            self.free(block);
        }
        Some(new)
    }

    /// Whether an address is that of a block of this heap. A foreign block is freed by the heap that served before.
    fn owns(&self, _address: *const u8) -> Owns {
        Owns::Unknown
    }

    /// The heap's statistics: asked at any time, also in a handler that has interrupted another call of this heap,
    /// which must not wait for that call. [`Stats::EMPTY`] is an answer.
    fn stats(&self) -> Stats {
        Stats::EMPTY
    }

    /// Before a fork, in the thread that forks: takes what locks there are, so that the child gets a heap
    /// in which no call is under way.
    fn fork_prepare(&self) {}

    /// After a fork, in the parent.
    ///
    /// # Safety
    /// * Prepared: this thread called [`Heap::fork_prepare`] for this fork.
    unsafe fn fork_parent(&self) {}

    /// After a fork, in the child, which has this thread only.
    ///
    /// # Safety
    /// * Prepared: as for [`Heap::fork_parent`].
    unsafe fn fork_child(&self) {}

    /// Whether [`Heap::thread_exit`] is to be called. Asked once, when the heap has started; it costs each call a
    /// few instructions.
    fn wants_thread_exit(&self) -> bool {
        false
    }

    /// This thread is about to end. It may still allocate and free afterwards, in destructors that run later.
    fn thread_exit(&self) {}
}
