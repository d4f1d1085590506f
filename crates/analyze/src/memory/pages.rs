//! Which pages are in memory. A page has the size of the kernel's pages, or, of 4 KiB, 2 MiB where the kernel has put huge pages: that
//! is known of a mapping whose aligned pieces of that size that are all in memory are as many as it has huge pages.

use heapscribe_formats::{Mapping, PageRun, huge_page_bytes};

/// Pages in memory, by address.
#[derive(Debug, Default)]
pub(super) struct Pages {
    page_bytes: u64,
    huge_bytes: u64,
    /// From and to, in memory, neither touching nor overlapping.
    runs: Vec<(u64, u64)>,
    /// From and to, in huge pages.
    huge: Vec<(u64, u64)>,
}

/// A page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PageAt {
    pub(super) start: u64,
    pub(super) bytes: u64,
    pub(super) is_resident: bool,
}

impl Pages {
    pub(super) fn new(page_bytes: u64, runs: &[PageRun], mappings: &[Mapping]) -> Pages {
        let page_bytes = page_bytes.max(1);
        let resident = runs.iter().filter(|run| !run.is_swapped);
        let end = |run: &PageRun| run.start.saturating_add(run.pages.saturating_mul(page_bytes));
        let mut sorted: Vec<_> = resident.map(|run| (run.start, end(run))).collect();
        sorted.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (from, to) in sorted {
            match merged.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        let mut pages =
            Pages { page_bytes, huge_bytes: huge_page_bytes(page_bytes), runs: merged, huge: Vec::new() };
        let huge = mappings.iter().filter(|of| of.huge_bytes > 0).filter_map(|of| pages.huge_of(of));
        pages.huge = huge.flatten().collect();
        pages.huge.sort_unstable();
        pages
    }

    /// The huge pages of a mapping, if it is known where they are.
    fn huge_of(&self, of: &Mapping) -> Option<Vec<(u64, u64)>> {
        let mut found = Vec::new();
        for (from, to) in self.within(of.start, of.end) {
            let (from, to) = (from.next_multiple_of(self.huge_bytes), to / self.huge_bytes * self.huge_bytes);
            found.extend((from < to).then_some((from, to)));
        }
        let bytes: u64 = found.iter().map(|(from, to)| to - from).sum();
        (bytes == of.huge_bytes).then_some(found)
    }

    /// What is in memory of a range.
    pub(super) fn within(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64)> {
        let first = self.runs.partition_point(|run| run.1 <= start);
        let runs = self.runs[first..].iter().take_while(move |run| run.0 < end);
        runs.map(move |run| (run.0.max(start), run.1.min(end)))
    }

    /// Bytes in memory of a range.
    pub(super) fn resident_bytes(&self, start: u64, end: u64) -> u64 {
        self.within(start, end).map(|(from, to)| to - from).sum()
    }

    /// The page that an address is in.
    pub(super) fn at(&self, address: u64) -> PageAt {
        let run = self.runs.partition_point(|run| run.1 <= address);
        let is_resident = self.runs.get(run).is_some_and(|run| run.0 <= address);
        let huge = self.huge.partition_point(|run| run.1 <= address);
        let is_huge = self.huge.get(huge).is_some_and(|run| run.0 <= address);
        let bytes = if is_huge { self.huge_bytes } else { self.page_bytes };
        PageAt { start: address / bytes * bytes, bytes, is_resident }
    }

    /// The first address of a page that is not before this one.
    pub(super) fn ceil(&self, address: u64) -> u64 {
        match self.at(address) {
            page if page.start == address => address,
            page => page.start.saturating_add(page.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;
    const HUGE_BYTES: u64 = 2 << 20;

    fn run(start: u64, pages: u64) -> PageRun {
        PageRun { start, pages, is_swapped: false }
    }

    #[test]
    fn pages_are_where_runs_are() {
        let swapped = PageRun { is_swapped: true, ..run(4 * PAGE, 1) };
        let pages = Pages::new(PAGE, &[run(6 * PAGE, 1), run(PAGE, 2), run(3 * PAGE, 1), swapped], &[]);
        let resident: Vec<_> = (0..8).map(|n| pages.at(n * PAGE + 5).is_resident).collect();
        assert_eq!(resident, [false, true, true, true, false, false, true, false]);
        assert_eq!(pages.resident_bytes(0, u64::MAX), 4 * PAGE);
        assert_eq!(pages.resident_bytes(2 * PAGE, 7 * PAGE), 3 * PAGE);
        assert_eq!(
            (pages.ceil(PAGE), pages.ceil(PAGE + 1), pages.at(PAGE + 5).start),
            (PAGE, 2 * PAGE, PAGE)
        );
    }

    #[test]
    fn huge_pages_are_known_where_they_account_for_what_the_kernel_counts() {
        let of = |huge_bytes| Mapping { start: 0, end: 4 * HUGE_BYTES, huge_bytes, ..Mapping::default() };
        let runs = [run(HUGE_BYTES, HUGE_BYTES / PAGE + 3)];
        let pages = Pages::new(PAGE, &runs, &[of(HUGE_BYTES)]);
        assert_eq!(
            (pages.at(HUGE_BYTES + PAGE).start, pages.at(HUGE_BYTES + PAGE).bytes),
            (HUGE_BYTES, HUGE_BYTES)
        );
        assert_eq!(pages.at(2 * HUGE_BYTES).bytes, PAGE);
        assert_eq!(Pages::new(PAGE, &runs, &[of(2 * HUGE_BYTES)]).at(HUGE_BYTES).bytes, PAGE);
    }
}
