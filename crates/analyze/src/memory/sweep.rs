//! Blocks and pages side by side, both by address: each page in which a block has a byte, once, with all blocks in it.

use super::extents::{Extent, extent};
use super::pages::{PageAt, Pages};
use super::placed::Placed;
use super::regions::{Class, Region};

/// A page that a block has a byte in.
#[derive(Debug)]
pub(super) struct UsedPage<'a> {
    pub(super) page: PageAt,
    pub(super) region: usize,
    /// Bytes of blocks, headers and rounding.
    pub(super) used_bytes: u64,
    /// Bytes that were asked for.
    pub(super) live_bytes: u64,
    /// The blocks, by address.
    pub(super) shares: &'a [Share],
}

/// What a block has in a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Share {
    /// Which block.
    pub(super) block: usize,
    pub(super) live_bytes: u64,
    pub(super) used_bytes: u64,
}

/// Who goes along.
pub(super) trait Visit {
    /// A block, the region that it is in, and its bytes.
    fn extent(&mut self, _heap: &Heap<'_>, _block: usize, _region: usize, _extent: &Extent) {}

    /// A page, after all blocks in it.
    fn page(&mut self, heap: &Heap<'_>, used: &UsedPage<'_>);
}

/// What is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heap<'a> {
    /// By address.
    pub(super) regions: &'a [Region],
    /// By address.
    pub(super) blocks: &'a [Placed],
    pub(super) pages: &'a Pages,
    pub(super) page_bytes: u64,
}

impl Heap<'_> {
    /// Visits each block and each page with a block, in memory or not; how many blocks are in no region.
    pub(super) fn sweep(&self, visit: &mut impl Visit) -> u64 {
        let (mut at, mut after, mut unplaced) = (0, 0, 0);
        let mut open = OpenPage::default();
        for (number, block) in self.blocks.iter().enumerate() {
            while self.regions.get(at).is_some_and(|region| region.end <= block.address) {
                at += 1;
            }
            let region = self.regions.get(at).filter(|region| region.start <= block.address);
            let Some(region) = region.filter(|region| region.class != Class::Fixed) else {
                unplaced += 1;
                continue;
            };
            let next = self.blocks.get(number + 1).map_or(u64::MAX, |next| next.address);
            let found = extent(block, region, self.page_bytes, (after, next));
            if found.start == found.end {
                continue; // the bytes are another block's
            }
            after = found.end;
            visit.extent(self, number, at, &found);
            open.add(self, (number, at), &found, visit);
        }
        open.close(self, visit);
        unplaced
    }
}

/// The page at which a sweep is.
#[derive(Default)]
struct OpenPage {
    page: Option<(PageAt, usize)>,
    used_bytes: u64,
    live_bytes: u64,
    shares: Vec<Share>,
}

impl OpenPage {
    fn add(
        &mut self,
        heap: &Heap<'_>,
        (block, region): (usize, usize),
        extent: &Extent,
        visit: &mut impl Visit,
    ) {
        let mut from = extent.start;
        while from < extent.end {
            let page = self.page.map(|(page, _)| page).filter(|page| from < page.start + page.bytes);
            let page = page.unwrap_or_else(|| {
                let next = heap.pages.at(from);
                self.close(heap, visit);
                self.page = Some((next, region));
                next
            });
            let to = extent.end.min(page.start + page.bytes);
            let (live_from, live_to) = (extent.live.0.max(from), extent.live.1.min(to));
            let share = Share { block, used_bytes: to - from, live_bytes: live_to.saturating_sub(live_from) };
            self.used_bytes += share.used_bytes;
            self.live_bytes += share.live_bytes;
            self.shares.push(share);
            from = to;
        }
    }

    fn close(&mut self, heap: &Heap<'_>, visit: &mut impl Visit) {
        if let Some((page, region)) = self.page.take() {
            let (used_bytes, live_bytes) = (self.used_bytes, self.live_bytes);
            visit.page(heap, &UsedPage { page, region, used_bytes, live_bytes, shares: &self.shares });
        }
        (self.used_bytes, self.live_bytes) = (0, 0);
        self.shares.clear();
    }
}
