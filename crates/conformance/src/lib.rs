//! Whether a heap keeps what [`Heap`] promises.
//!
//! *You bring* a heap, as an expression that makes a new one for each test, and what is known of it
//! ([`Traits`]). *It guarantees* that each test looks at what the heap really did: at addresses, at contents,
//! at blocks beside each other. *It refuses* to assert how long anything takes.
//!
//! ```ignore
//! heapscribe_conformance::heap_conformance!(my_heap, Box::leak(Box::new(MyHeap::new())), Traits::UNKNOWN);
//! ```
//! makes a module `my_heap` of tests. The heap is never the one that the test program itself uses.
//!
//! Each test is also a function, and [`ShadowHeap`] verifies the calls of a test of one's own:
//!
//! ```
//! use heapscribe_alloc::Request;
//! use heapscribe_alloc::locked::{Config, PageOptions, TlsfHeap};
//! use heapscribe_conformance::{ShadowHeap, Traits, suite};
//!
//! let pages = PageOptions { prefault: false, lock: false, huge_pages: false };
//! let config = Config { pool_bytes: 16 << 20, grow_bytes: 0, pages, ..Config::DEFAULT };
//! let heap: &'static TlsfHeap = Box::leak(Box::new(TlsfHeap::new(config)));
//! suite::alignments(heap, Traits::UNKNOWN);
//!
//! let mut shadow = ShadowHeap::new(heap);
//! let block = shadow.alloc(Request::new(100, 64).unwrap())?.expect("there is memory for this");
//! let larger = shadow.realloc(block, Request::bytes(5000).unwrap())?;
//! assert!(larger.is_some(), "and its first 100 bytes are what they were");
//! shadow.clear()?;
//! # Ok::<(), String>(())
//! ```

mod fork;
pub mod program;
mod shadow;
pub mod soak;
pub mod suite;
mod tests_macro;
mod traits;
pub mod workload;

pub use heapscribe_alloc::Heap;
pub use shadow::ShadowHeap;
pub use traits::Traits;
