//! Of what the resident memory of a process is made at an instant, and which stacks' blocks keep pages that are nearly empty:
//! from the live blocks of a snapshot and the memory map beside them.
//!
//! ```text
//!   regions   what each mapping is: the heap's, by brk, an arena, blocks with mappings of their own; or not the heap's
//!   extents   how many bytes each block takes of it, with its header and rounding
//!   pages     which pages are in memory, and how large they are
//!   sweep     blocks and pages side by side: each page of which a block has a byte, with its blocks
//!   waterfall the sum of all parts, to the byte
//!   lists     where the heap itself has what is free, when its lists were read
//!   pools     of our pool heap, what each pool has in blocks, free and cached
//!   pins      each page that is nearly empty is charged to the stacks whose blocks are in it
//!   of_sections  the same for sections of the program that have ended
//!   page_map  the same pages as cells of a map
//!   remedy    how many pages would come back without the blocks of the first stacks
//! ```
//!
//! *Guarantees:* the parts sum to the resident size; a page that is charged is charged in whole, once. *Limits:* headers
//! and rounding follow from the size that was asked for, as glibc computes them, and are not read from the process; what is
//! no live block counts as free, also a block that was allocated before the recording began.

mod answer;
mod charge;
mod extents;
mod limits;
mod lists;
mod of_sections;
mod page_map;
mod pages;
mod pins;
mod placed;
mod pools;
mod read;
mod regions;
mod remedy;
mod sweep;
mod waterfall;

pub use answer::{FreePart, HeapLists, Memory, OtherMapping, Part, PartName, Pinned, PoolFigures, TopBlock};
pub use limits::{PINNED_MAX_QUARTERS, PINNED_OF_QUARTERS};
pub use page_map::{HeapPart, MapCell, PageMap};
pub use read::{analyze, left, page_map};

#[cfg(test)]
mod tests;
