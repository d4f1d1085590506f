//! Heap profiles as text, as gperftools (tcmalloc), jemalloc and Go's `debug=1` write them, and jeprof and pprof read
//! them:
//!
//! ```text
//!   heap profile: 3: 96 [5: 160] @ heapprofile            live blocks: bytes [allocated in all], who wrote it
//!    2: 64 [4: 128] @ 0x401136 0x40115d 0x7f12            the same of a stack, innermost frame first
//!
//!   heap_v2/524288                                        jemalloc, and the mean bytes between two samples
//!     t*: 3: 96 [0: 0]                                    all threads; t0, t1 ... each of them
//!   @ 0x401136 0x40115d 0x7f12                            a stack, and its sums by thread
//!     t*: 2: 64 [0: 0]
//!
//!   MAPPED_LIBRARIES:                                     /proc/PID/maps
//! ```
//! Behind `@` and the kind of the profile is `/RATE` where blocks were sampled: `heap/N` has twice the mean distance of
//! two samples, `heap_v2/N` the mean itself. What samples stand for is computed as jeprof does.
//!
//! *Lost in reading*: threads, whose sums are in those of `t*`; the kinds of memory in what Go
//! writes behind all stacks. Its names of functions are taken, see `go`.

mod go;
mod maps;
mod read;

pub use read::{is_begin, read};

#[cfg(test)]
mod tests;
