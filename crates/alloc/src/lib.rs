//! Heaps: the trait that every heap under a program implements, a heap of our own in bounded time, the system's,
//! and the recorder's own private memory.
//!
//! *You bring* a [`Heap`], or the addresses of the previous heap's functions, or memory for a pool. *It guarantees*
//! that a heap sees sane requests only ([`Request`]), that libc's rules hold on top of any heap ([`front`]),
//! that a call of the pool heap takes a bounded number of steps ([`tlsf`], [`locked`]), and that the system
//! heap's answers stay its own. *It refuses* to guess a function that is missing, to wait without end, and to
//! allocate but from the pages given.
//!
//! ```
//! use heapscribe_alloc::locked::{Config, PageOptions, TlsfHeap};
//! use heapscribe_alloc::{Heap, Owns, Request};
//!
//! // One pool of 1 MiB, which may not grow.
//! let pages = PageOptions { prefault: false, lock: false, huge_pages: false };
//! let heap = TlsfHeap::new(Config { pool_bytes: 1 << 20, grow_bytes: 0, pages, ..Config::DEFAULT });
//!
//! let block = heap.alloc(Request::new(100, 64).unwrap()).expect("the pool has room for this");
//! assert_eq!(block.as_ptr() as usize % 64, 0);
//! assert_eq!(heap.owns(block.as_ptr()), Owns::Yes);
//! assert!(heap.alloc(Request::bytes(2 << 20).unwrap()).is_none(), "more than the pool");
//!
//! // SAFETY: used: the block is this heap's and was not freed.
//! unsafe { heap.free(block) };
//! let stats = heap.stats();
//! assert_eq!((stats.blocks, stats.failures, stats.fragmentation_per_mille()), (0, 1, 0));
//! ```
#![cfg_attr(not(test), no_std)]

pub mod arena;
pub mod front;
pub mod heap;
pub mod locked;
pub mod request;
pub mod stats;
pub mod system;
pub mod tlsf;
pub mod vtable;

pub use heap::{Heap, Owns};
pub use request::Request;
pub use stats::Stats;
