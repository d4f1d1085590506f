//! Heaps: the trait that every heap under a program implements, a heap of our own in bounded time, the one
//! that the program would have had, and the recorder's own private memory.
//!
//! *You bring* a [`Heap`], or the addresses of the next heap's functions, or memory for a pool. *It guarantees*
//! that a heap sees sane requests only ([`Request`]), that libc's rules hold on top of any heap ([`front`]),
//! that a call of the pool heap takes a bounded number of steps ([`tlsf`], [`locked`]), and that the system
//! heap's answers stay its own. *It refuses* to guess a function that is missing, to wait without end, and to
//! allocate but from the pages given.
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
