//! What stands between a program and a heap that is put under it: the functions of libc, exported by one
//! macro, so that a heap is a library to preload.
//!
//! *You bring* a heap that is made at compile time: [`Heap`] for a type of yours. *It guarantees* that the heap
//! sees sane requests only ([`Request`]), that a foreign block is freed by the heap that allocated it, that forks
//! find it with its locks free, and that it is started once, in the first call that the program makes, wherever that is. *It
//! refuses* to stop a program: when a heap can not start, the program runs on the one that it has.
//!
//! A crate with `crate-type = ["cdylib"]` that has this in it is all of such a library:
//!
//! ```no_run,standalone_crate
//! use std::ptr::NonNull;
//! use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
//!
//! use heapscribe_interpose::{Heap, Request, Start, export, pages};
//!
//! export! {
//!     static HEAP: Equal = Equal { next: AtomicUsize::new(0), end: AtomicUsize::new(0) };
//!     start = Equal::start;
//! }
//!
//! /// Blocks of one size, none used twice.
//! struct Equal {
//!     next: AtomicUsize,
//!     end: AtomicUsize,
//! }
//!
//! const BLOCK: usize = 4096;
//! const ROOM: usize = 1 << 36;
//!
//! impl Equal {
//!     fn start(&self) -> Start {
//!         let Some(room) = pages(ROOM) else { return Start::Pass };
//!         self.next.store(room.as_ptr() as usize, Relaxed);
//!         self.end.store(room.as_ptr() as usize + ROOM, Relaxed);
//!         Start::Ready
//!     }
//! }
//!
//! // SAFETY: no two calls get the same block, each block is at a page and BLOCK bytes long.
//! unsafe impl Heap for Equal {
//!     fn alloc(&self, request: Request) -> Option<NonNull<u8>> {
//!         if request.size_bytes() > BLOCK || request.align_bytes() > BLOCK {
//!             return None;
//!         }
//!         let end = self.end.load(Relaxed);
//!         let next = |at| (at < end).then_some(at + BLOCK);
//!         let at = self.next.try_update(Relaxed, Relaxed, next).ok()?;
//!         NonNull::new(at as *mut u8)
//!     }
//!
//!     unsafe fn free(&self, _block: NonNull<u8>) {}
//!
//!     unsafe fn usable_size(&self, _block: NonNull<u8>) -> usize {
//!         BLOCK
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! | you want | you write |
//! |---|---|
//! | memory to begin with, a setting from the environment | `start = ...`, [`pages`], [`setting`] |
//! | a message to the person, without a heap | [`Line`] |
//! | faster `calloc`, `realloc` | [`Heap::alloc_zeroed`], [`Heap::realloc`] |
//! | locks that a fork finds free | [`Heap::fork_prepare`], [`Heap::fork_parent`], [`Heap::fork_child`] |
//! | blocks from before the heap's start freed by the heap that allocated them | [`Heap::owns`] |
//! | `mallinfo2`, `malloc_stats` | [`Heap::stats`] |
//! | to know that it is right | `heap_conformance!` of `heapscribe-conformance`, in the crate's own tests |
//!
//! In a crate's own unit tests nothing is exported, so that they run on their usual heap.
//! Nothing in a heap may panic: there is no heap for the message. `examples/bump-heap` is a whole one.
#![no_std]

mod call_counter;
pub mod export;
mod interposer;
mod libc;
mod line;
mod mallinfo;
mod pages;
mod program_filter;
pub mod setting;
mod statistics_file;
mod thread_exit;

pub use heapscribe_alloc::front;
pub use heapscribe_alloc::heap::{Heap, Owns};
pub use heapscribe_alloc::request::Request;
pub use heapscribe_alloc::stats::Stats;
pub use heapscribe_alloc::system::SystemHeap;
#[doc(hidden)]
pub use heapscribe_nolibc::deep_open;
pub use interposer::{Handlers, Interposer, LARGE_BYTES, Start, errno};
pub use line::Line;
pub use mallinfo::{MallInfo, MallInfo2, info, info2, print_stats};
pub use pages::pages;
pub use thread_exit::ThreadExit;
