//! Mappings that pools share with other memory: the kernel makes one of neighbours with the same rights, so memory that the
//! program maps right below a pool lies in the pool's mapping. Here it is cut at the pool's border, and what the kernel
//! counts of it is divided as its pages lie. *Guarantees:* the pieces have the figures of the whole.

use heapscribe_formats::model::{Mapping, PageRun, huge_page_bytes};

use super::pools::Pool;
use crate::memory_map::ProcessMap;

/// Cuts mappings where pools begin and end, and marks those that are pools'.
pub(super) fn cut(map: &mut ProcessMap, pools: &[Pool]) {
    let page_bytes = map.page_bytes.max(1);
    let spans = spans(pools, page_bytes);
    let mut cut = Vec::with_capacity(map.mappings.len());
    for of in std::mem::take(&mut map.mappings) {
        let inside = |at: &u64| of.start < *at && *at < of.end;
        let borders = spans.iter().flat_map(|(start, end)| [*start, *end]).filter(inside);
        let ends: Vec<u64> = borders.chain([of.end]).collect();
        let mut rest = of;
        for end in ends {
            let mut piece = split_off(&mut rest, end, &map.runs, page_bytes);
            piece.is_heap = spans.iter().any(|span| span.0 < piece.end && piece.start < span.1);
            cut.push(piece);
        }
    }
    map.mappings = cut;
}

/// From and to of pools in whole pages, by address; of neighbours as one.
fn spans(pools: &[Pool], page_bytes: u64) -> Vec<(u64, u64)> {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for pool in pools {
        let start = pool.start / page_bytes * page_bytes;
        let end = pool.end.checked_next_multiple_of(page_bytes).unwrap_or(pool.end);
        match spans.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => spans.push((start, end)),
        }
    }
    spans
}

/// Takes what is before an address off a mapping, with its share of each figure; the last piece takes all that is left.
fn split_off(rest: &mut Mapping, end: u64, runs: &[PageRun], page_bytes: u64) -> Mapping {
    if end >= rest.end {
        return rest.clone();
    }
    let huge_bytes = huge_page_bytes(page_bytes);
    let (mut resident, mut swapped, mut huge) = (0, 0, 0);
    let first = runs.partition_point(|run| run.start + run.pages * page_bytes <= rest.start);
    for run in runs.iter().skip(first).take_while(|run| run.start < end) {
        let from = run.start.max(rest.start);
        let to = (run.start + run.pages * page_bytes).min(end);
        if run.is_swapped {
            swapped += to - from;
        } else {
            resident += to - from;
            let whole = (from.next_multiple_of(huge_bytes), to / huge_bytes * huge_bytes);
            huge += whole.1.saturating_sub(whole.0);
        }
    }
    let mut piece = Mapping { end, ..rest.clone() };
    let share = |of: &mut u64, rest: &mut u64, bytes: u64| {
        *of = bytes.min(*rest);
        *rest -= *of;
    };
    share(&mut piece.resident_bytes, &mut rest.resident_bytes, resident);
    share(&mut piece.anonymous_bytes, &mut rest.anonymous_bytes, resident);
    share(&mut piece.swapped_bytes, &mut rest.swapped_bytes, swapped);
    share(&mut piece.huge_bytes, &mut rest.huge_bytes, huge);
    rest.start = end;
    piece
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;
    const HUGE_BYTES: u64 = 2 << 20;

    /// A mapping of pages 10 to 40 with pages in memory, and pools by page; pieces with begin, resident pages and owner.
    fn check(runs: &[(u64, u64)], pools: &[(u64, u64)], resident: u64, expected: &[(u64, u64, bool)]) {
        let of = Mapping {
            start: 10 * PAGE,
            end: 40 * PAGE,
            resident_bytes: resident * PAGE,
            anonymous_bytes: resident * PAGE,
            ..Mapping::default()
        };
        let run = |&(start, pages): &(u64, u64)| PageRun { start: start * PAGE, pages, is_swapped: false };
        let mut map = ProcessMap {
            page_bytes: PAGE,
            mappings: vec![of],
            runs: runs.iter().map(run).collect(),
            ..ProcessMap::default()
        };
        let pools: Vec<_> =
            pools.iter().map(|(start, end)| Pool { start: start * PAGE, end: end * PAGE - 16 }).collect();
        cut(&mut map, &pools);
        let piece = |of: &Mapping| (of.start / PAGE, of.resident_bytes / PAGE, of.is_heap);
        assert_eq!(map.mappings.iter().map(piece).collect::<Vec<_>>(), expected);
        assert!(map.mappings.windows(2).all(|of| of[0].end == of[1].start));
        assert_eq!(map.mappings.last().unwrap().end, 40 * PAGE);
    }

    #[test]
    fn memory_beside_pools_is_not_theirs() {
        let runs = [(10, 8), (22, 6), (39, 1)];
        check(&runs, &[(20, 40)], 15, &[(10, 8, false), (20, 7, true)]);
        check(&runs, &[(10, 15), (15, 25)], 15, &[(10, 11, true), (25, 4, false)]);
        check(&runs, &[(16, 24)], 15, &[(10, 6, false), (16, 4, true), (24, 5, false)]);
        check(&runs, &[(10, 40)], 15, &[(10, 15, true)]);
        check(&runs, &[], 15, &[(10, 15, false)]);
        check(&runs, &[(1, 10), (40, 44)], 15, &[(10, 15, false)]);
    }

    #[test]
    fn pieces_sum_to_what_the_kernel_counts() {
        // It counted before the pages were read, and there were fewer, or more.
        check(&[(10, 8), (22, 6)], &[(20, 40)], 5, &[(10, 5, false), (20, 0, true)]);
        check(&[(10, 8), (22, 6)], &[(20, 40)], 20, &[(10, 8, false), (20, 12, true)]);
    }

    #[test]
    fn huge_pages_stay_where_they_are() {
        let of = Mapping {
            start: 0,
            end: 5 * HUGE_BYTES,
            resident_bytes: 4 * HUGE_BYTES,
            huge_bytes: 3 * HUGE_BYTES,
            ..Mapping::default()
        };
        let pages = HUGE_BYTES / PAGE;
        let runs = [(0, pages), (2 * pages, 2 * pages), (4 * pages + 1, pages - 1)];
        let run = |(start, pages): (u64, u64)| PageRun { start: start * PAGE, pages, is_swapped: false };
        let mut map = ProcessMap {
            page_bytes: PAGE,
            mappings: vec![of],
            runs: runs.map(run).to_vec(),
            ..ProcessMap::default()
        };
        cut(&mut map, &[Pool { start: 2 * HUGE_BYTES, end: 5 * HUGE_BYTES }]);
        let huge: Vec<_> = map.mappings.iter().map(|of| of.huge_bytes / HUGE_BYTES).collect();
        assert_eq!(huge, [1, 2]);
    }
}
