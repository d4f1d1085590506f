//! How many bytes were live at moments. Segments have the level at the begin of each step of the grid, so
//! only chunks with a segment in the step of a moment are read, each once for all its moments.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::reader::ChangeReader;
use crate::events::Blocks;
use crate::input::{ChunkFacts, Clock, History, NumberedChunk};
use crate::timeline::{Grid, Segment};

/// A process whose chunks are summed.
pub(crate) struct Levels<'a> {
    pub(crate) clock: &'a Clock,
    pub(crate) grid: &'a Grid,
    /// Its segments, sorted.
    pub(crate) segments: &'a [Segment],
    /// All chunks of the recording.
    pub(crate) chunks: &'a [ChunkFacts],
    /// The level at the begin of the grid.
    pub(crate) before_bytes: i64,
}

impl Levels<'_> {
    /// The levels at moments, which are ticks in their order: after the events of that instant. What they were
    /// before the grid is not known, and of no use.
    pub(crate) fn at<H: History>(&self, moments: &[u64], reader: &ChangeReader<'_, H>) -> Vec<i64> {
        let (mut levels, mut before, mut rest) =
            (Vec::with_capacity(moments.len()), self.before_bytes, self.segments);
        let mut unread: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (n, moment) in moments.iter().enumerate() {
            let ns = self.clock.ns(*moment);
            let step = self.grid.step_of(ns);
            let (earlier, from) = rest.split_at(rest.partition_point(|segment| segment.step < step));
            before = earlier.iter().fold(before, |sum, segment| sum.wrapping_add(segment.net_bytes));
            rest = from;
            let mut level = before;
            for segment in from.iter().take_while(|segment| segment.step == step) {
                if segment.last_ns < ns {
                    level = level.wrapping_add(segment.net_bytes);
                } else if segment.first_ns <= ns {
                    let of_chunk = unread.entry(segment.chunk).or_default();
                    if of_chunk.last() != Some(&n) {
                        of_chunk.push(n);
                    }
                }
            }
            levels.push(level);
        }
        let parts: Vec<Vec<(usize, i64)>> = unread
            .par_iter()
            .map(|(chunk, of_chunk)| self.within(*chunk, of_chunk, moments, reader))
            .collect();
        for (n, bytes) in parts.into_iter().flatten() {
            levels[n] = levels[n].wrapping_add(bytes);
        }
        levels
    }

    /// What a chunk adds to the level from the begin of a moment's step to the moment, for some of them.
    fn within<H: History>(
        &self,
        number: u32,
        of_chunk: &[usize],
        moments: &[u64],
        reader: &ChangeReader<'_, H>,
    ) -> Vec<(usize, i64)> {
        let begin_of = |moment: u64| match self.grid.step_of(self.clock.ns(moment)) {
            0 if !self.grid.is_window => 0,
            step => self.clock.first_tick_at(self.grid.begin_of(step)),
        };
        // Bytes up to before the begins of steps and up to after the moments.
        let mut ends: Vec<u64> =
            of_chunk.iter().flat_map(|n| [begin_of(moments[*n]), moments[*n].saturating_add(1)]).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut bytes = vec![0i64; ends.len()];
        let chunk = NumberedChunk { number: number as usize, facts: self.chunks[number as usize] };
        let last = ends.last().map_or(0, |end| end.saturating_sub(1));
        let (mut at, mut scratch) = (0, H::Scratch::default());
        reader.each_change(&chunk, Blocks::Heap, last, &mut scratch, |ticks, changes| {
            at += ends[at..].partition_point(|end| *end <= ticks);
            if let Some(bytes) = bytes.get_mut(at) {
                *bytes = bytes.wrapping_add(changes.net_bytes());
            }
        });
        for n in 1..bytes.len() {
            bytes[n] = bytes[n].wrapping_add(bytes[n - 1]);
        }
        let up_to = |end: u64| ends.binary_search(&end).map_or(0, |at| bytes[at]);
        let part = |n: &usize| {
            let moment = moments[*n];
            (*n, up_to(moment.saturating_add(1)).wrapping_sub(up_to(begin_of(moment))))
        };
        of_chunk.iter().map(part).collect()
    }
}
