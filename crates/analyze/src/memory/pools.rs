//! The pools of our pool heap, of which each free block is known: what is in blocks, what is free, and what neither is, as
//! threads cache it. A pool begins and ends with pieces of the heap's own, by which it is found here.

use heapscribe_formats::{FreeKind, FreeRange, POOL_END_BYTES, POOL_FRONT_BYTES};

use super::answer::PoolFigures;
use super::extents::Extent;
use super::limits::HEADER_BYTES;
use super::pages::Pages;

/// Sums up pools.
#[derive(Debug)]
pub(super) struct Pools {
    /// By address.
    pools: Vec<PoolFigures>,
    /// The pool that blocks are in now.
    at: usize,
}

impl Pools {
    /// Of free ranges by address, none overlapping another.
    pub(super) fn new(free: &[FreeRange], pages: &Pages) -> Pools {
        let mut pools: Vec<PoolFigures> = Vec::new();
        let mut open: Option<PoolFigures> = None;
        for of in free {
            match (of.kind, of.bytes, &mut open) {
                (FreeKind::Own, POOL_FRONT_BYTES, _) => {
                    open = Some(PoolFigures { start: of.start, ..PoolFigures::default() });
                }
                (FreeKind::Pool, bytes, Some(pool)) => {
                    pool.free_blocks += 1;
                    pool.cached_bytes += bytes; // what is left of the rest is cached, see `finish`
                    let served = bytes.saturating_sub(HEADER_BYTES);
                    pool.largest_free_bytes = pool.largest_free_bytes.max(served);
                }
                (FreeKind::Own, POOL_END_BYTES, _) => {
                    if let Some(mut pool) = open.take() {
                        pool.end = of.start + of.bytes;
                        pool.pool_bytes = pool.end - pool.start - POOL_FRONT_BYTES - POOL_END_BYTES;
                        pool.resident_bytes = pages.resident_bytes(pool.start, pool.end);
                        pools.push(pool);
                    }
                }
                _ => {}
            }
        }
        Pools { pools, at: 0 }
    }

    /// Blocks come by address.
    pub(super) fn extent(&mut self, extent: &Extent) {
        while self.pools.get(self.at).is_some_and(|pool| pool.end <= extent.start) {
            self.at += 1;
        }
        if let Some(pool) = self.pools.get_mut(self.at).filter(|pool| pool.start <= extent.start) {
            pool.blocks += 1;
            pool.used_bytes += extent.end - extent.start;
        }
    }

    pub(super) fn finish(self) -> Vec<PoolFigures> {
        let finish = |pool: PoolFigures| {
            let in_free_blocks = pool.cached_bytes;
            let free_bytes = pool.pool_bytes.saturating_sub(pool.used_bytes);
            PoolFigures { free_bytes, cached_bytes: free_bytes.saturating_sub(in_free_blocks), ..pool }
        };
        self.pools.into_iter().map(finish).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_no_block_and_not_free_is_cached() {
        let range = |start: u64, end: u64, kind| FreeRange { start, bytes: end - start, kind };
        let (own, free) = (FreeKind::Own, FreeKind::Pool);
        let ranges = [
            range(4_096, 4_120, own),
            range(4_120, 4_216, free),
            range(5_000, 5_032, free),
            range(8_184, 8_192, own),
            range(8_192, 8_216, own),
            range(12_280, 12_288, own),
            // Cut: a pool without an end is not known.
            range(20_480, 20_504, own),
            range(20_504, 20_536, free),
        ];
        let mut pools = Pools::new(&ranges, &Pages::default());
        let block = |start, end| Extent { start, end, live: (start + 8, end) };
        for (start, end) in [(100, 200), (4_216, 4_316), (8_216, 9_216), (9_216, 9_248), (30_000, 30_032)] {
            pools.extent(&block(start, end));
        }
        let found = pools.finish();
        let figures = |of: &PoolFigures| {
            let PoolFigures { start, pool_bytes, used_bytes, blocks, free_bytes, cached_bytes, .. } = *of;
            [
                start,
                pool_bytes,
                used_bytes,
                blocks,
                free_bytes,
                cached_bytes,
                of.free_blocks,
                of.largest_free_bytes,
            ]
        };
        let found: Vec<_> = found.iter().map(figures).collect();
        assert_eq!(
            found,
            [
                [4_096, 4_064, 100, 1, 3_964, 3_964 - 96 - 32, 2, 88],
                [8_192, 4_064, 1_032, 2, 3_032, 3_032, 0, 0]
            ]
        );
    }
}
