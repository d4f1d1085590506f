//! The libraries of heaps that heapscribe carries, one for each feature: the pool heap, the program's own, that
//! with a log of every call, and a heap of another library, given as a table of C functions.
#![cfg_attr(not(test), no_std)]
#![allow(unreachable_pub, reason = "`no_mangle` functions in private modules")]
#![cfg_attr(
    not(feature = "heaplog"),
    allow(dead_code, reason = "tests have the parts of the log, not what uses them")
)]

#[cfg(any(feature = "heaplog", test))]
mod heaplog;
#[cfg(any(feature = "heaplog", feature = "original"))]
mod null_heap;
#[cfg(feature = "original")]
mod original;
#[cfg(feature = "table")]
mod table;
#[cfg(feature = "tlsf")]
mod tlsf;

#[cfg(not(test))]
heapscribe_nolibc::end_on_panic!();
// The code of that for a table is an archive, too.
#[cfg(not(any(test, feature = "table")))]
heapscribe_nolibc::import_weakly!();
