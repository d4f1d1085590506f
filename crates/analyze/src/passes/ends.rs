//! The ends of processes. What is live in a process ends with it, or with its exec: it is leaked, and it is
//! not live beside what other processes hold later.

use crate::timeline::{Grid, Segment};

/// The end of a process as a segment beside its own, which begin at so many bytes; none where nothing was live.
pub(super) fn segment(
    process: usize,
    end_ns: u64,
    segments: &[Segment],
    before_bytes: i64,
    grid: &Grid,
) -> Option<Segment> {
    let live = segments.iter().fold(before_bytes, |sum, segment| sum.saturating_add(segment.net_bytes));
    (live != 0).then(|| Segment::end_of_process(process, end_ns, live, grid))
}
