//! A heap whose every operation takes a bounded number of steps, after the published two-level segregated
//! fit (Masmano, Ripoll, Crespo, Real 2004).
//!
//! *You bring* memory, as pools, and one caller at a time. *It guarantees* that `alloc`, `free` and `resize`
//! look at a bounded number of words however full and however fragmented the pools are, blocks at multiples of
//! 16 that cost 8 bytes each, any alignment with the gap in front freed, and blocks up to a whole pool.
//! *It refuses* to ask for memory by itself ([`crate::locked`] does), and to look at what it was not given.
//!
//! ```text
//!   alloc(size):  mapping_search: the first class all of whose blocks are large enough    size_class
//!                 find_suitable: the first class from there on that has a block           free_lists: two bit scans
//!                 remove it, split off what is too much, insert that                      allocator, block
//!   free(block):  merge it with its neighbours if they are free                           block: two looks
//!                 mapping_insert: put it into its class                                   free_lists
//! ```
//! Where this departs from the paper: (1) when no class from the rounded one on has a block, the first
//! [`SEARCH_MAX`] of the request's own class are looked at, so that a request as large as the only free block
//! is served; (2) sizes below 512 bytes have a class each; (3) pools are found through a list that is in the
//! pools themselves, so there may be any number.
//!
//! ```text
//!   allocator        the calls                       concurrent_read  what may be read of a block meanwhile
//!   free_lists       lists of free blocks, bitmaps   walk             every block, and whether all is consistent
//!   size_class       first and second level          pool             areas of memory
//!   block            a header and its neighbours     poison           writes to free blocks, in debug builds
//! ```

mod allocator;
mod block;
mod concurrent_read;
mod free_lists;
mod poison;
mod pool;
mod size_class;
#[cfg(test)]
mod tests;
mod walk;

pub use allocator::{SEARCH_MAX, Tlsf};
pub(crate) use block::TOTAL_MIN;
pub use block::total_for;
pub use pool::{POOL_BYTES_MIN, pool_bytes_for};
pub(crate) use size_class::GRANULE;
pub use walk::{Flaw, WalkedBlock};
