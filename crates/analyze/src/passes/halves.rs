//! The moments of the peak as each half of a sample has it, for the range that the peak lies in: see
//! [`crate::sampling::peak_range`]. Only of recordings with samples, whose events are few: they are read once more
//! for each half.

use super::ends;
use crate::input::{History, NumberedChunk};
use crate::peak::Search;
use crate::sampling::Half;
use crate::timeline::{Grid, Segment, sort_segments};

/// A process, as far as its blocks are summed.
pub(super) struct OfProcess<'a> {
    pub(super) chunks: &'a [NumberedChunk],
    /// What was live before them, as each half has it, bytes.
    pub(super) before_bytes: [i64; 2],
    /// When it ended, ns.
    pub(super) end_ns: Option<u64>,
}

/// When all processes together held the most of such blocks, ns, as each half has it.
pub(super) fn peaks<H: History>(
    search: &Search<'_, H>,
    grid: &Grid,
    processes: &[OfProcess<'_>],
) -> [u64; 2] {
    Half::ALL.map(|half| peak(&Search { of: search.of.in_half(half), ..*search }, half, grid, processes))
}

fn peak<H: History>(search: &Search<'_, H>, half: Half, grid: &Grid, processes: &[OfProcess<'_>]) -> u64 {
    let (mut segments, mut ends, mut before_bytes) = (Vec::new(), Vec::new(), 0i64);
    for (number, of) in processes.iter().enumerate() {
        if of.end_ns.is_some_and(|ns| grid.is_before(ns)) {
            continue; // gone when the window of the ring began
        }
        let before = of.before_bytes[half as usize];
        let numbers: Vec<u32> = of.chunks.iter().map(|chunk| chunk.number as u32).collect();
        let mut cut: Vec<Segment> = search.cut(grid, &numbers);
        let live_bytes = ends::live_bytes(&cut, before);
        ends.extend(of.end_ns.and_then(|ns| ends::segment(number, ns, live_bytes, grid)));
        segments.append(&mut cut);
        before_bytes = before_bytes.saturating_add(before);
    }
    segments.append(&mut ends);
    sort_segments(&mut segments);
    search.highest(grid, &segments, before_bytes).ns
}
