//! The search for the highest moment, exact without sorting the trace.
//!
//! 1. Add up the segments of the first pass, step by step: a level that was certainly reached (`best`)
//!    and, for each step with several threads, a bound.
//! 2. Look again only at steps whose bound beats `best`, highest bound first: few events are ordered by
//!    time and added one by one, many are cut into a finer grid and searched in the same way.
//!
//! `best` rises as steps are looked at, so that most candidates fall away unopened.

use std::ops::Range;

use rayon::prelude::*;

use crate::events::{Blocks, Changes, Scale};
use crate::input::{ChunkFacts, Clock, History, NumberedChunk};
use crate::sampling::Rates;
use crate::timeline::{Cutter, Grid, Segment, StepLevel, sort_segments, step_levels};

/// Steps of a finer grid.
const FINER_STEPS: u32 = 256;
/// Steps that are looked at before `best` is asked again.
const AT_ONCE: usize = 8;

/// A level and the first moment when it was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Height {
    pub(crate) bytes: i64,
    pub(crate) ns: u64,
}

impl Height {
    fn offer(&mut self, other: Height) {
        if other.bytes > self.bytes || (other.bytes == self.bytes && other.ns < self.ns) {
            *self = other;
        }
    }

    /// Whether a step may hold something better.
    fn may_be_beaten(&self, bound_bytes: i64, begin_ns: u64) -> bool {
        bound_bytes > self.bytes || (bound_bytes == self.bytes && begin_ns < self.ns)
    }
}

/// What the search needs of the recording.
pub(crate) struct Search<'a, H> {
    pub(crate) history: &'a H,
    pub(crate) rates: &'a Rates<'a, H>,
    pub(crate) chunks: &'a [ChunkFacts],
    /// Clocks of the processes.
    pub(crate) clocks: &'a [Clock],
    /// Events that may be brought into order at once, 16 bytes each.
    pub(crate) ordered_events_max: u64,
    pub(crate) of: Blocks,
}

impl<H: History> Search<'_, H> {
    /// The highest moment of sorted segments on a grid, starting at so many bytes.
    pub(crate) fn highest(&self, grid: &Grid, segments: &[Segment], bytes: i64) -> Height {
        let best = Height { bytes: bytes.max(0), ns: grid.begin_ns };
        self.higher(grid, segments, &step_levels(segments, bytes), best)
    }

    /// The same when the steps are known already; `best` is what is to be beaten.
    pub(crate) fn higher(
        &self,
        grid: &Grid,
        segments: &[Segment],
        steps: &[StepLevel],
        mut best: Height,
    ) -> Height {
        for step in steps {
            let (bytes, ns) = step.certain();
            best.offer(Height { bytes, ns });
        }
        let mut open: Vec<&StepLevel> = steps.iter().filter(|s| s.reached_ns.is_none()).collect();
        open.sort_by_key(|s| (std::cmp::Reverse(s.bound_bytes), s.number));
        for some in open.chunks(AT_ONCE) {
            let wanted = some
                .iter()
                .filter(|s| best.may_be_beaten(s.bound_bytes, s.range(grid).start))
                .collect::<Vec<_>>();
            if wanted.is_empty() && best.bytes > some[0].bound_bytes {
                break;
            }
            let found: Vec<Height> = wanted
                .par_iter()
                .map(|step| self.look_into(step, step.range(grid), &segments[step.segments.clone()], best))
                .collect();
            found.into_iter().for_each(|height| best.offer(height));
        }
        best
    }

    fn look_into(&self, step: &StepLevel, range: Range<u64>, segments: &[Segment], best: Height) -> Height {
        let mut chunks: Vec<u32> = segments.iter().map(|s| s.chunk).collect();
        chunks.sort_unstable();
        chunks.dedup();
        if step.events <= self.ordered_events_max {
            return self.in_order(step, range, &chunks, best);
        }
        if range.end - range.start <= 1 {
            return best;
        }
        let grid = Grid::new(range.start, range.end, FINER_STEPS);
        let mut finer = self.cut(&grid, &chunks);
        sort_segments(&mut finer);
        self.higher(&grid, &finer, &step_levels(&finer, step.before_bytes), best)
    }

    /// Orders the events of a step and adds them one instant after the other.
    fn in_order(&self, step: &StepLevel, range: Range<u64>, chunks: &[u32], mut best: Height) -> Height {
        let mut changes: Vec<(u64, i64)> = Vec::with_capacity(step.events as usize);
        self.each_event(&range, chunks, |_, ns, change| changes.push((ns, change.net_bytes())));
        changes.sort_unstable_by_key(|(ns, _)| *ns);
        let mut bytes = step.before_bytes;
        for instant in changes.chunk_by(|a, b| a.0 == b.0) {
            bytes = instant.iter().fold(bytes, |sum, (_, net)| sum.saturating_add(*net));
            best.offer(Height { bytes, ns: instant[0].0 });
        }
        best
    }

    /// Cuts the chunks' events within the grid's range into segments.
    fn cut(&self, grid: &Grid, chunks: &[u32]) -> Vec<Segment> {
        let of_chunk = |&number: &u32| {
            let mut segments = Vec::new();
            let chunk = NumberedChunk { number: number as usize, facts: self.chunks[number as usize] };
            let clock = &self.clocks[chunk.facts.process];
            let mut cutter = Cutter::new(&chunk, clock, grid, &mut segments);
            self.each_event(&(grid.begin_ns..grid.end_ns), &[number], |ticks, _, changes| {
                cutter.at(ticks);
                changes.freed.iter().for_each(|freed| cutter.free(freed.weight));
                changes.allocated.iter().for_each(|allocated| cutter.alloc(allocated.weight));
            });
            cutter.close();
            segments
        };
        chunks.par_iter().flat_map_iter(of_chunk).collect()
    }

    /// Visits the events of chunks within a range of time: ticks, ns, and what was freed and allocated.
    fn each_event(&self, range: &Range<u64>, chunks: &[u32], mut visit: impl FnMut(u64, u64, Changes)) {
        let mut scratch = H::Scratch::default();
        for &number in chunks {
            let chunk = &self.chunks[number as usize];
            let clock = &self.clocks[chunk.process];
            let (begin, end) = (clock.first_tick_at(range.start), clock.first_tick_at(range.end));
            let Ok(events) = self.history.events(number as usize, &mut scratch) else { continue };
            let (mut ticks, mut scale) = (chunk.begin_ticks, Scale::new(chunk.thread).of(self.of));
            for item in events {
                let Ok((dt, event)) = item else { break };
                ticks = ticks.wrapping_add(dt);
                if ticks >= end {
                    break;
                }
                if !scale.follow(&event, |rate| self.rates.mean(chunk.process, rate)) && ticks >= begin {
                    visit(ticks, clock.ns(ticks), scale.changes(&event, ticks));
                }
            }
        }
    }
}
