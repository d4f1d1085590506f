//! The ends of processes. What is live in a process ends with it, or with its exec: it is leaked, and it is
//! not live beside what other processes hold later.

use crate::timeline::{Grid, Segment};

/// The end of a process in which so many bytes were live, as a segment beside its own; none where nothing was.
pub(super) fn segment(process: usize, end_ns: u64, live_bytes: i64, grid: &Grid) -> Option<Segment> {
    (live_bytes != 0).then(|| Segment::end_of_process(process, end_ns, live_bytes, grid))
}

/// What is live after its own segments, which begin at so many bytes.
pub(super) fn live_bytes(segments: &[Segment], before_bytes: i64) -> i64 {
    segments.iter().fold(before_bytes, |sum, segment| sum.saturating_add(segment.net_bytes))
}
