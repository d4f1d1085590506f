//! How much of the heap a block takes: itself, its header and what its size is rounded up by. Of two blocks that claim one
//! byte, which a copy of no one instant may have, the first has it.

use super::limits::{CHUNK_ALIGN, CHUNK_BYTES_MIN, HEADER_BYTES, MAPPED_HEADER_BYTES};
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

/// The bytes of a block in a region, from `after` on, where the block before it ends.
pub(super) fn extent(block: &Placed, region: &Region, page_bytes: u64, after: u64) -> Extent {
    let Placed { address, size_bytes, .. } = *block;
    let size_bytes = size_bytes.min(region.end); // of a block that is longer the end is cut anyway
    let (start, end) = match region.class {
        Class::Brk | Class::Arena => {
            let start = address.saturating_sub(HEADER_BYTES);
            (start, start.saturating_add(chunk_bytes(size_bytes)))
        }
        Class::Open => {
            let start = address.saturating_sub(MAPPED_HEADER_BYTES) / page_bytes * page_bytes;
            (start, address.saturating_add(size_bytes).next_multiple_of(page_bytes))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(class: Class, (address, size_bytes): (u64, u64), after: u64, expected: (u64, u64, (u64, u64))) {
        let region = Region { start: 0x1000, end: 0x9000, class, ..Region::default() };
        let block = Placed { address, size_bytes, ..Placed::default() };
        let found = extent(&block, &region, 0x1000, after);
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
    fn no_byte_is_two_blocks_or_outside() {
        check(Class::Brk, (0x1010, 24), 0x1018, (0x1018, 0x1028, (0x1018, 0x1028)));
        check(Class::Brk, (0x1010, 24), 0x2000, (0x2000, 0x2000, (0x2000, 0x2000)));
        check(Class::Brk, (0x8ff0, 64), 0, (0x8fe8, 0x9000, (0x8ff0, 0x9000)));
    }
}
