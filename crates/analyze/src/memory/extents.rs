//! How much of the heap a block takes: itself, its header and what its size is rounded up by. Of two blocks that claim one
//! byte, which a copy of no one instant may have, the first has it.

use super::limits::{
    CHUNK_ALIGN, CHUNK_BYTES_MIN, CLASS_BYTES_MIN, CLASS_STEP_BYTES, HEADER_BYTES, MAPPED_HEADER_BYTES,
};
use super::placed::Placed;
use super::regions::{Class, Region};

/// The bytes that are a block's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Extent {
    /// From the header on.
    pub(super) start: u64,
    /// Up to the next chunk.
    pub(super) end: u64,
    /// What was asked for: from and to.
    pub(super) live: (u64, u64),
}

/// The bytes of a block in a region, from `after` on, where the block before it ends; the next one begins at `next`.
pub(super) fn extent(block: &Placed, region: &Region, page_bytes: u64, (after, next): (u64, u64)) -> Extent {
    let Placed { address, size_bytes, .. } = *block;
    let size_bytes = size_bytes.min(region.end); // of a block that is longer the end is cut anyway
    let (start, end) = match region.class {
        // The pool heap has the same header, and rounds in the same way.
        Class::Brk | Class::Arena | Class::Pool => {
            let start = address.saturating_sub(HEADER_BYTES);
            (start, start.saturating_add(chunk_bytes(size_bytes)))
        }
        Class::Open => {
            let start = address.saturating_sub(MAPPED_HEADER_BYTES) / page_bytes * page_bytes;
            (start, address.saturating_add(size_bytes).next_multiple_of(page_bytes))
        }
        Class::Slab { classed_bytes_max } => {
            let size_bytes = size_bytes.max(1);
            let is_classed = size_bytes <= classed_bytes_max;
            let rounded =
                if is_classed { class_bytes(size_bytes) } else { size_bytes.next_multiple_of(page_bytes) };
            // One that was asked for at a larger alignment may lie behind the begin of its place.
            let end = address.saturating_add(rounded).min(next);
            (address, end.max(address.saturating_add(size_bytes)))
        }
        Class::Foreign | Class::Fixed => (address, address.saturating_add(size_bytes.max(1))),
    };
    let start = start.max(after).max(region.start);
    let end = end.min(region.end).max(start);
    let within = |at: u64| at.clamp(start, end);
    Extent { start, end, live: (within(address), within(address.saturating_add(size_bytes))) }
}

/// glibc's chunk for a request.
fn chunk_bytes(size_bytes: u64) -> u64 {
    let rounded = size_bytes.saturating_add(HEADER_BYTES + CHUNK_ALIGN - 1) / CHUNK_ALIGN * CHUNK_ALIGN;
    rounded.max(CHUNK_BYTES_MIN)
}

/// The class of a size in jemalloc and mimalloc: 8, multiples of 16 up to 64, then four to each power of two.
fn class_bytes(size_bytes: u64) -> u64 {
    match size_bytes {
        0..=CLASS_BYTES_MIN => CLASS_BYTES_MIN,
        _ => size_bytes.next_multiple_of(CLASS_STEP_BYTES.max(1 << (size_bytes - 1).ilog2() >> 2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(class: Class, (address, size_bytes): (u64, u64), after: u64, expected: (u64, u64, (u64, u64))) {
        let region = Region { start: 0x1000, end: 0x9000, class, ..Region::default() };
        let block = Placed { address, size_bytes, ..Placed::default() };
        let found = extent(&block, &region, 0x1000, (after, 0x6000));
        assert_eq!((found.start, found.end, found.live), expected, "{block:?}");
    }

    #[test]
    fn chunks_have_headers_and_are_rounded() {
        check(Class::Brk, (0x1010, 24), 0, (0x1008, 0x1028, (0x1010, 0x1028)));
        check(Class::Arena, (0x1010, 25), 0, (0x1008, 0x1038, (0x1010, 0x1029)));
        check(Class::Brk, (0x1010, 0), 0, (0x1008, 0x1028, (0x1010, 0x1010)));
        check(Class::Foreign, (0x1010, 0), 0, (0x1010, 0x1011, (0x1010, 0x1010)));
        // In a mapping of its own: whole pages. At another alignment the header may be in the page before.
        check(Class::Open, (0x2010, 0x2fe0), 0, (0x2000, 0x5000, (0x2010, 0x4ff0)));
        check(Class::Open, (0x3000, 0x2001), 0, (0x2000, 0x6000, (0x3000, 0x5001)));
    }

    #[test]
    fn other_heaps_round_up_to_their_classes() {
        // As malloc_usable_size has it of jemalloc 5.3 and mimalloc 2.0, each size up to 64 MiB and up to 128 KiB.
        let classes =
            [(1, 8), (8, 8), (9, 16), (17, 32), (33, 48), (64, 64), (65, 80), (129, 160), (161, 192)];
        let large = [(1_024, 1_024), (1_025, 1_280), (14_336, 14_336), (14_337, 16_384), (40_961, 49_152)];
        for (size, class) in classes.into_iter().chain(large) {
            assert_eq!(class_bytes(size), class, "{size}");
        }
        let slab = Class::Slab { classed_bytes_max: 0x1000 };
        check(slab, (0x2000, 33), 0, (0x2000, 0x2030, (0x2000, 0x2021)));
        check(slab, (0x2000, 0), 0, (0x2000, 0x2008, (0x2000, 0x2000)));
        // No further than to the next block; of what has no class whole pages.
        check(slab, (0x5ff0, 9), 0, (0x5ff0, 0x6000, (0x5ff0, 0x5ff9)));
        check(slab, (0x2000, 0x1001), 0, (0x2000, 0x4000, (0x2000, 0x3001)));
        check(slab, (0x5ff0, 0x30), 0, (0x5ff0, 0x6020, (0x5ff0, 0x6020)));
        check(Class::Pool, (0x1010, 25), 0, (0x1008, 0x1038, (0x1010, 0x1029)));
    }

    #[test]
    fn no_byte_is_two_blocks_or_outside() {
        check(Class::Brk, (0x1010, 24), 0x1018, (0x1018, 0x1028, (0x1018, 0x1028)));
        check(Class::Brk, (0x1010, 24), 0x2000, (0x2000, 0x2000, (0x2000, 0x2000)));
        check(Class::Brk, (0x8ff0, 64), 0, (0x8fe8, 0x9000, (0x8ff0, 0x9000)));
    }
}
