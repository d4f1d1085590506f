//! A heap whose every operation takes a bounded number of steps, after the published two-level segregated
//! fit (Masmano, Ripoll, Crespo, Real 2004).
//!
//! *You bring* memory, as pools, and one caller at a time. *It guarantees* that `alloc`, `free` and `resize`
//! look at a bounded number of words however full and however torn the pools are, blocks at multiples of 16
//! that cost 8 bytes each, any alignment with the gap in front given back, and blocks up to a whole pool.
//! *It refuses* to ask for memory by itself ([`crate::locked`] does), and to look at what it was not given.
//!
//! ```text
//!   alloc(size):  round up to a class all of whose blocks are large enough      class
//!                 the first class from there on that has a block               index: two bit scans
//!                 take it out, cut off what is too much, put that back         heap, block
//!   free(block):  join it with its neighbours if they are free                  block: two looks
//!                 put it into its class                                         index
//! ```
//! Where this departs from the paper: (1) when no class from the rounded one on has a block, the first
//! [`LOOK_MAX`] of the request's own class are looked at, so that a request as large as the only free block
//! is served; (2) sizes below 512 bytes have a class each; (3) pools are found through a list that is in the
//! pools themselves, so there may be any number.

mod block;
mod class;
mod heap;
mod index;
mod outside;
mod poison;
mod pool;
#[cfg(test)]
mod tests;
mod walk;

pub(crate) use block::TOTAL_MIN;
pub use block::total_for;
pub(crate) use class::GRANULE;
pub use heap::{LOOK_MAX, Tlsf};
pub use pool::{POOL_BYTES_MIN, pool_bytes_for};
pub use walk::{Flaw, Piece};
