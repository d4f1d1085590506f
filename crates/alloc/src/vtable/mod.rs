//! A heap as a table of C functions: what a plug-in in another language fills in, and what a plug-in in Rust
//! exports, so that neither has to know the other's compiler. `include/heapscribe_heap.h` is the same in C.
//!
//! ```text
//!    0  abi           1
//!    4  table_bytes   size of the table as its author knew it: fields beyond are not there
//!    8  heap          given to every function
//!   16  alloc         (heap, size, align) -> block or null
//!   24  free          (heap, block)
//!   32  usable_size   (heap, block) -> bytes
//!       from here on a null means: as if it were made of the three above, or not known
//!   40  alloc_zeroed  (heap, size, align) -> block or null
//!   48  realloc       (heap, block, size, align) -> block or null
//!   56  owns          (heap, address) -> 0 no, 1 yes, other: cannot tell
//!   64  stats         (heap, stats)
//!   72  fork_prepare, fork_parent, fork_child, thread_exit   (heap)
//! ```
//! A later version adds fields at the end, and keeps abi; another abi is refused.
//!
//! [`HeapTable::of`] makes a table of a heap in Rust, [`TableHeap`] a heap of a table.

mod table;
mod table_heap;

pub use table::{ABI, HeapTable, TABLE_BYTES_MIN};
pub use table_heap::{Refused, TableHeap};
