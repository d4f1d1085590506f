//! Where the heap itself has what is free: its lists beside blocks and pages. Of a range in which a block is, the bytes are the
//! block's: lists are read after the blocks, and may have it by then.

use heapscribe_formats::{FreeKind, FreeRange, ListsRead};

use super::answer::{FreePart, HeapLists, Memory, PartName};
use super::extents::Extent;
use super::limits::{FREE_HEADER_BYTES, HEADER_BYTES};
use super::pages::Pages;
use super::regions::{Class, Region};
use super::sweep::UsedPage;

/// Ranges by address, none overlapping another, whatever a file says.
pub(super) fn in_order(mut ranges: Vec<FreeRange>) -> Vec<FreeRange> {
    ranges.sort_unstable_by_key(|of| of.start);
    let mut end = 0;
    ranges.retain_mut(|of| {
        let to = of.start.saturating_add(of.bytes);
        of.start = of.start.max(end);
        of.bytes = to.saturating_sub(of.start);
        end = end.max(to);
        of.bytes > 0
    });
    ranges
}

/// Sums up what is in memory of free ranges, outside of blocks and outside of pages with blocks.
#[derive(Debug)]
pub(super) struct Lists<'a> {
    free: &'a [FreeRange],
    pages: &'a Pages,
    outside_blocks: Gaps,
    in_free_pages: Gaps,
}

impl<'a> Lists<'a> {
    pub(super) fn new(free: &'a [FreeRange], pages: &'a Pages) -> Self {
        Lists { free, pages, outside_blocks: Gaps::default(), in_free_pages: Gaps::default() }
    }

    /// Blocks come by address.
    pub(super) fn extent(&mut self, extent: &Extent) {
        self.outside_blocks.used((self.free, self.pages), extent.start, extent.end);
    }

    pub(super) fn page(&mut self, used: &UsedPage<'_>) {
        self.in_free_pages.used(
            (self.free, self.pages),
            used.page.start,
            used.page.start.saturating_add(used.page.bytes),
        );
    }

    /// The answer, of a heap with these parts.
    pub(super) fn finish(mut self, read: ListsRead, memory: &Memory) -> HeapLists {
        let ranges = (self.free, self.pages);
        for gaps in [&mut self.outside_blocks, &mut self.in_free_pages] {
            gaps.used(ranges, u64::MAX, u64::MAX);
        }
        let sums = self.outside_blocks.bytes.into_iter().zip(self.in_free_pages.bytes);
        let part = |(kind, (bytes, in_free_pages_bytes)): (&FreeKind, (u64, u64))| FreePart {
            kind: *kind,
            bytes,
            in_free_pages_bytes,
        };
        let parts: Vec<_> = FreeKind::ALL.iter().zip(sums).map(part).collect();
        let free =
            [PartName::FreeInUsedPages, PartName::FreePages, PartName::FreePagesAtTop, PartName::FreeArenas];
        let free = free.iter().map(|part| memory.bytes_of(*part)).fold(0, u64::saturating_add);
        let listed = parts.iter().map(|part| part.bytes).fold(0, u64::saturating_add);
        HeapLists { read, parts, unlisted_bytes: free.saturating_sub(listed) }
    }
}

/// What is between used pieces that come by address.
#[derive(Debug, Default)]
struct Gaps {
    next: usize,
    at: u64,
    bytes: [u64; FreeKind::ALL.len()],
}

impl Gaps {
    fn used(&mut self, (free, pages): (&[FreeRange], &Pages), start: u64, end: u64) {
        while let Some(of) = free.get(self.next).filter(|of| of.start < start) {
            let to = of.start + of.bytes;
            let (from, until) = (of.start.max(self.at), to.min(start));
            if from < until {
                self.bytes[of.kind as usize] += pages.resident_bytes(from, until);
            }
            if to > start {
                break;
            }
            self.next += 1;
        }
        self.at = self.at.max(end);
    }
}

/// What `malloc_trim(0)` gives back: whole pages inside of free chunks, after those of fast bins are joined with their
/// neighbours, and the end of the heap that grows by brk. What threads cache counts as in use.
pub(super) fn trim_bytes(free: &[FreeRange], regions: &[Region], pages: &Pages) -> u64 {
    let is_brk = |at: u64| {
        let region = regions.get(regions.partition_point(|region| region.end <= at));
        region.is_some_and(|region| region.class == Class::Brk && region.start <= at)
    };
    let comes = |of: &FreeRange| match of.kind {
        FreeKind::Bin | FreeKind::FastBin => true,
        FreeKind::Top => is_brk(of.start),
        FreeKind::ThreadCache | FreeKind::Own | FreeKind::Pool => false,
    };
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for of in free.iter().filter(|of| comes(of)) {
        let to = of.start + of.bytes;
        match runs.last_mut() {
            Some(last) if last.1 == of.start => last.1 = to,
            _ => runs.push((of.start, to)),
        }
    }
    let back = |(from, to): (u64, u64)| {
        let from = pages.ceil(from.saturating_sub(HEADER_BYTES).saturating_add(FREE_HEADER_BYTES));
        // Pages up to the begin of the next chunk, whose own header word is behind `to`.
        let to = pages.at(to).start;
        if from < to { pages.resident_bytes(from, to) } else { 0 }
    };
    runs.into_iter().map(back).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use heapscribe_formats::PageRun;

    const PAGE: u64 = 4096;

    fn range(start: u64, end: u64, kind: FreeKind) -> FreeRange {
        FreeRange { start, bytes: end - start, kind }
    }

    fn pages(from: u64, pages: u64) -> Pages {
        Pages::new(PAGE, &[PageRun { start: from * PAGE, pages, is_swapped: false }], &[])
    }

    #[test]
    fn what_a_block_has_is_in_no_list() {
        let free = [
            range(0, 100, FreeKind::ThreadCache),
            range(100, 300, FreeKind::Bin),
            range(5_000, 9_000, FreeKind::Top),
        ];
        let pages = pages(0, 2);
        let mut gaps = Gaps::default();
        for (start, end) in [(20, 30), (90, 110), (6_000, 7_000), (u64::MAX, u64::MAX)] {
            gaps.used((&free, &pages), start, end);
        }
        // Of the top 1,000 bytes are a block's, and what is behind 8,192 is not in memory.
        assert_eq!(gaps.bytes, [80, 0, 190, 8_192 - 5_000 - 1_000, 0, 0]);
    }

    #[test]
    fn ranges_of_a_file_are_put_in_order() {
        let bad = vec![
            range(50, 80, FreeKind::Bin),
            range(0, 60, FreeKind::Top),
            range(10, 20, FreeKind::Bin),
            FreeRange { start: u64::MAX - 3, bytes: u64::MAX, kind: FreeKind::Bin },
        ];
        let found: Vec<_> = in_order(bad).iter().map(|of| (of.start, of.start + of.bytes)).collect();
        assert_eq!(found, [(0, 60), (60, 80), (u64::MAX - 3, u64::MAX)]);
    }

    #[test]
    fn trimming_gives_back_whole_pages_of_joined_chunks() {
        let brk = Region { start: 0, end: 100 * PAGE, class: Class::Brk, ..Region::default() };
        let arena = Region { start: 100 * PAGE, end: 200 * PAGE, class: Class::Arena, ..Region::default() };
        let check = |free: &[FreeRange], expected_pages: u64| {
            assert_eq!(trim_bytes(free, &[brk, arena], &pages(0, 200)), expected_pages * PAGE, "{free:?}");
        };
        check(&[range(PAGE - 40, 3 * PAGE, FreeKind::Bin)], 2);
        check(&[range(PAGE - 39, 3 * PAGE, FreeKind::Bin)], 1);
        check(&[range(8, 2 * PAGE, FreeKind::FastBin), range(2 * PAGE, 4 * PAGE, FreeKind::Bin)], 3);
        check(&[range(8, 2 * PAGE, FreeKind::Bin), range(2 * PAGE, 4 * PAGE, FreeKind::ThreadCache)], 1);
        check(&[range(8, 4 * PAGE, FreeKind::Top)], 3);
        check(&[range(100 * PAGE + 8, 104 * PAGE, FreeKind::Top)], 0);
        check(&[range(8, PAGE, FreeKind::Bin)], 0);
    }
}
