//! Heaps: the one that the program would have had, and the recorder's own private memory.
//!
//! *You bring* the addresses of the next heap's functions and a source of pages. *It guarantees* libc's
//! semantics untouched - sizes, alignments, errno and NULL are the heap's own answers - and that nothing
//! here allocates but from the pages given. *It refuses* to guess a function that is missing: each
//! stand-in is named where it is made.
#![cfg_attr(not(test), no_std)]

pub mod arena;
pub mod system;
