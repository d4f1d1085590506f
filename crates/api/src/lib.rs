//! Tell heapscribe what your program does, and ask it what it has counted.
//!
//! heapscribe records each block of the heap that a program allocates, from outside, with nothing to
//! change in the program. This crate is for programs that want to say more: *here the second phase begins*,
//! *this is one request*, *this block is from my own pool*. What they say stands in the report beside the
//! stacks.
//!
//! ```
//! fn answer(request: &str) -> usize {
//!     let _section = heapscribe_api::section(c"request");
//!     request.to_uppercase().len()
//! }
//!
//! heapscribe_api::mark(c"warm");
//! assert_eq!(answer("a request"), 9);
//! ```
//!
//! *You bring* nothing: no start-up, no feature, no other crate. *It guarantees* that a program that is not
//! recorded - it was not started by `heapscribe record`, or is linked statically - runs as if the calls
//! were not there: each is one load and one branch. It never allocates, locks, panics or changes `errno`,
//! and may be used in a signal handler and in a global allocator. *It refuses* to be asked whether what it
//! was told has arrived: what could not be kept is counted, and the report says so.
//!
//! The same for C and C++ is `heapscribe.h`, which `heapscribe header` prints.
#![no_std]

mod find;
mod pool;
mod section;
mod stats;

pub use pool::Pool;
pub use section::{Section, section};
pub use stats::{Counts, Recording, Stats, stats};

use core::ffi::CStr;

/// Says that the program has come to a point. The report tells when, and how large the heap was.
///
/// A name has up to 256 bytes, what is longer is cut; a process has up to 4,096 different ones.
///
/// ```
/// heapscribe_api::mark(c"configuration read");
/// ```
#[inline(always)]
pub fn mark(name: &CStr) {
    find::mark(name);
}

/// Keeps a snapshot of what is allocated at this instant, under a name of up to 64 bytes of UTF-8.
///
/// Other threads that allocate wait meanwhile, some milliseconds for a million blocks. The snapshot can be
/// looked at for as long as the session stays.
///
/// ```
/// heapscribe_api::snapshot(c"after the first request");
/// ```
#[inline(always)]
pub fn snapshot(name: &CStr) {
    find::snapshot(name);
}
