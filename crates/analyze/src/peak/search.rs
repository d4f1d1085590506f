//! The search for the highest moment, exact without sorting the trace.
//!
//! 1. Add up the segments of the first pass, step by step: a level that was certainly reached (`best`)
//!    and, for each step with several threads, a bound.
//! 2. Look again only at steps whose bound beats `best`, highest bound first: few events are ordered by
//!    time and added one by one, many are cut into a finer grid and searched in the same way.
//!
//! `best` rises as steps are looked at, so that most candidates are never read: first a few steps, then
//! more of those that are left at a time, whose chunks are read once for all of them.

use rayon::prelude::*;

use super::candidates::Candidates;
use super::height::Height;
use super::reader::ChangeReader;
use crate::events::Blocks;
use crate::input::{ChunkFacts, Clock, History, NumberedChunk};
use crate::timeline::{Cutter, Grid, Segment, StepLevel, sort_segments, step_levels};

/// Steps of a finer grid.
const FINER_STEPS: u32 = 256;
/// Steps that are looked at before `best` is asked for the first time; each time after that more by
/// `MORE`.
const FIRST_AT_ONCE: usize = 8;
const MORE: usize = 8;

/// What the search needs of the recording.
pub(crate) struct Search<'a, H> {
    pub(crate) reader: ChangeReader<'a, H>,
    pub(crate) chunks: &'a [ChunkFacts],
    /// Clocks of the processes.
    pub(crate) clocks: &'a [Clock],
    /// Events that may be brought into order at once.
    pub(crate) ordered_events_max: u64,
    pub(crate) of: Blocks,
}

impl<H: History> Search<'_, H> {
    /// The highest moment of sorted segments on a grid, starting at so many bytes.
    pub(crate) fn highest(&self, grid: &Grid, segments: &[Segment], bytes: i64) -> Height {
        self.highest_of(grid, segments, &step_levels(segments, bytes), bytes)
    }

    /// The same when the steps are known already.
    pub(crate) fn highest_of(
        &self,
        grid: &Grid,
        segments: &[Segment],
        steps: &[StepLevel],
        bytes: i64,
    ) -> Height {
        let best = Height { bytes: bytes.max(0), ns: grid.begin_ns };
        self.higher(grid, segments, steps, best)
    }

    /// The highest moment of known steps; `best` is what is to be beaten.
    fn higher(&self, grid: &Grid, segments: &[Segment], steps: &[StepLevel], mut best: Height) -> Height {
        for step in steps {
            let (bytes, ns) = step.certain();
            best.offer(Height { bytes, ns });
        }
        let mut open: Vec<&StepLevel> = steps.iter().filter(|s| s.reached_ns.is_none()).collect();
        open.sort_by_key(|s| (std::cmp::Reverse(s.bound_bytes), s.number));
        let mut at_once = FIRST_AT_ONCE;
        loop {
            open.retain(|s| best.may_be_beaten(s.bound_bytes, s.range(grid).start));
            if open.is_empty() {
                return best;
            }
            let next: Vec<&StepLevel> = open.drain(..self.how_many(&open, at_once)).collect();
            best.offer(self.look_into(&next, grid, segments, best));
            at_once = at_once.saturating_mul(MORE);
        }
    }

    /// How many of the next steps are looked into: at least one, and not more events than may be ordered.
    fn how_many(&self, open: &[&StepLevel], at_once: usize) -> usize {
        let mut events = 0u64;
        let fit = open.iter().take(at_once).take_while(|step| {
            events = events.saturating_add(step.events);
            events <= self.ordered_events_max
        });
        fit.count().max(1)
    }

    fn look_into(&self, steps: &[&StepLevel], grid: &Grid, segments: &[Segment], mut best: Height) -> Height {
        if let [step] = steps
            && step.events > self.ordered_events_max
        {
            return self.look_closer(step, grid, segments, best);
        }
        let candidates = Candidates::new(steps, grid, segments);
        let read = |number: u32, of_chunk: &[usize]| {
            let chunk = NumberedChunk { number: number as usize, facts: self.chunks[number as usize] };
            candidates.read(of_chunk, &self.reader, &chunk, &self.clocks[chunk.facts.process], self.of)
        };
        candidates.in_order(read).into_iter().for_each(|height| best.offer(height));
        best
    }

    /// Cuts a step of many events into finer ones.
    fn look_closer(&self, step: &StepLevel, grid: &Grid, segments: &[Segment], best: Height) -> Height {
        let range = step.range(grid);
        if range.end - range.start <= 1 {
            return best;
        }
        let (ends, of_chunks): (Vec<&Segment>, Vec<&Segment>) =
            segments[step.segments.clone()].iter().partition(|segment| segment.is_end());
        let mut chunks: Vec<u32> = of_chunks.iter().map(|segment| segment.chunk).collect();
        chunks.sort_unstable();
        chunks.dedup();
        let grid = Grid::new(range.start, range.end, FINER_STEPS);
        let mut finer = self.cut(&grid, &chunks);
        finer.extend(ends.iter().map(|end| Segment { step: grid.step_of(end.first_ns), ..**end }));
        sort_segments(&mut finer);
        self.higher(&grid, &finer, &step_levels(&finer, step.before_bytes), best)
    }

    /// Cuts the chunks' events within the grid's range into segments.
    pub(crate) fn cut(&self, grid: &Grid, chunks: &[u32]) -> Vec<Segment> {
        let of_chunk = |&number: &u32| {
            let mut segments = Vec::new();
            let chunk = NumberedChunk { number: number as usize, facts: self.chunks[number as usize] };
            let clock = &self.clocks[chunk.facts.process];
            let (begin, end) = (clock.first_tick_at(grid.begin_ns), clock.first_tick_at(grid.end_ns));
            let mut cutter = Cutter::new(&chunk, clock, grid, &mut segments);
            let mut scratch = H::Scratch::default();
            self.reader.each_change(
                &chunk,
                self.of,
                end.saturating_sub(1),
                &mut scratch,
                |ticks, changes| {
                    if ticks < begin {
                        return;
                    }
                    cutter.at(ticks);
                    changes.freed.iter().for_each(|freed| cutter.free(freed.weight));
                    changes.allocated.iter().for_each(|allocated| cutter.alloc(allocated.weight));
                },
            );
            cutter.close();
            segments
        };
        chunks.par_iter().flat_map_iter(of_chunk).collect()
    }
}
