//! Tell heapscribe what your program does, and ask it what it has counted.
//!
//! heapscribe records each block of the heap that a program allocates, from outside, with nothing to
//! change in the program. This crate is for programs that want to annotate that: *here the second phase
//! begins*, *this is one request*, *this block is from my own pool*. The report shows it beside the stacks.
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
//! and may be used in a signal handler and in a global allocator. *It refuses* to answer
//! whether an annotation has arrived: what could not be recorded is counted, and the report shows it.
//!
//! The same for C and C++ is `heapscribe.h`, which `heapscribe header` prints.
#![no_std]

mod counts;
mod find;
mod mark;
mod pool;
mod section;
mod stats;

pub use counts::Counts;
pub use mark::{mark, snapshot};
pub use pool::Pool;
pub use section::{Section, section};
pub use stats::{Recording, Stats, stats};
