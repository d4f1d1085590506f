//! The libraries of heaps that heapscribe carries, one for each feature: the pool heap, the program's own, and
//! a heap that another library brings as a table of C functions.
#![no_std]
#![allow(unreachable_pub, reason = "`no_mangle` functions in private modules")]

#[cfg(feature = "original")]
mod original;
#[cfg(feature = "table")]
mod table;
#[cfg(feature = "tlsf")]
mod tlsf;

#[cfg(not(test))]
mod panic;
