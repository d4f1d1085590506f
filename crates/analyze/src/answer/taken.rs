//! What a heap takes for the blocks that it holds: their bytes, a size word each, and rounding to its sizes. The sizes of
//! all blocks of a stack are known together, so each is taken to need as much more as they do on average: all figures of
//! a report that speak of what the heap took ask here.

use super::amounts::Amount;
use super::bounds::Range;

/// Bytes of a chunk of glibc's heap before the block.
const HEADER_BYTES: u64 = 8;
/// Chunks are multiples of this.
const CHUNK_MULTIPLE: u64 = 16;
/// The smallest chunk.
const CHUNK_MIN: u64 = 32;

/// All blocks of a stack, whether they are live or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct AllBlocks {
    /// How many, and what was asked for.
    pub(crate) allocated: Amount,
    /// What glibc's heap takes for them.
    pub(crate) heap_bytes: u64,
}

/// What glibc's heap takes for a block, with its header; one in a mapping of its own takes up to a page more.
#[inline(always)]
pub fn heap_bytes(size_bytes: u64) -> u64 {
    let whole = size_bytes.saturating_add(HEADER_BYTES + CHUNK_MULTIPLE - 1) & !(CHUNK_MULTIPLE - 1);
    whole.max(CHUNK_MIN)
}

/// What the heap takes beyond what was asked for, of what is held of a stack; of a stack that allocated nothing that was
/// seen by its mean size.
pub(crate) fn overhead_bytes(held: &Amount, all: &AllBlocks) -> u64 {
    let Amount { blocks, bytes } = *held;
    if blocks == 0 {
        return 0;
    }
    if all.allocated.blocks == 0 {
        return heap_bytes(bytes / blocks).saturating_mul(blocks).saturating_sub(bytes);
    }
    let of_all = all.heap_bytes.saturating_sub(all.allocated.bytes);
    let part = u128::from(of_all) * u128::from(blocks) / u128::from(all.allocated.blocks);
    u64::try_from(part).unwrap_or(u64::MAX)
}

/// The most that the heap can have taken: so much beyond what was asked for, and at the peak so many bytes, or more where
/// what is missing leaves the peak open.
pub(crate) fn taken_bytes_max(overhead_bytes: u64, peak_bytes: u64, bounds: Option<&Range>) -> u64 {
    let high = bounds.map_or(0, |bounds| bounds.high.unwrap_or(u64::MAX));
    peak_bytes.max(high).saturating_add(overhead_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_take_what_glibc_takes_for_them() {
        for (size, chunk) in [(0, 32), (1, 32), (24, 32), (25, 48), (40, 48), (41, 64), (1_000, 1_008)] {
            assert_eq!(heap_bytes(size), chunk, "{size}");
        }
    }

    /// What is taken for `held` blocks of a stack that allocated blocks of these sizes.
    fn check(sizes: &[u64], held: Amount, expected: u64) {
        let mut all = AllBlocks::default();
        for size in sizes {
            all.allocated.add(&Amount { blocks: 1, bytes: *size });
            all.heap_bytes += heap_bytes(*size);
        }
        let found = taken_bytes_max(overhead_bytes(&held, &all), held.bytes, None);
        assert_eq!(found, expected, "{held:?} of {sizes:?}");
    }

    #[test]
    fn blocks_take_what_their_size_takes() {
        for (size, chunk) in [(1, 32), (24, 32), (25, 48), (1_000, 1_008)] {
            check(&[size; 7], Amount { blocks: 3, bytes: 3 * size }, 3 * chunk);
            check(&[], Amount { blocks: 3, bytes: 3 * size }, 3 * chunk);
        }
    }

    /// A part of the bytes of all, as for its blocks, would be 34,232.
    #[test]
    fn one_stack_may_have_small_and_large_blocks() {
        check(&[24, 1_000, 100_000], Amount { blocks: 1, bytes: 100_000 }, 100_000 + (8 + 8 + 16) / 3);
        check(&[24], Amount::default(), 0);
    }

    #[test]
    fn an_open_peak_may_have_been_higher() {
        let check = |bounds, expected| assert_eq!(taken_bytes_max(8, 100, bounds), expected);
        check(None, 108);
        check(Some(&Range { low: 1, high: Some(300) }), 308);
        check(Some(&Range { low: 1, high: None }), u64::MAX);
    }
}
