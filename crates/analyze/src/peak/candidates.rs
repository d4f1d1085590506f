//! Steps that may hold the peak, looked into together: their events are brought into the order of time and
//! added one instant after the other. A chunk that has events in several of them is read once.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;

use super::height::Height;
use super::reader::ChangeReader;
use crate::events::Blocks;
use crate::input::{Clock, History, NumberedChunk};
use crate::timeline::{Grid, Segment, StepLevel};

/// A step, its time and what was live before it.
struct Candidate {
    range: Range<u64>,
    before_bytes: i64,
}

/// What an event of a step changed.
#[derive(Clone, Copy)]
pub(super) struct Change {
    step: usize,
    ns: u64,
    net_bytes: i64,
}

/// Some steps.
pub(super) struct Candidates {
    /// By time.
    steps: Vec<Candidate>,
    /// The steps that a chunk has events in, by chunk.
    chunks: BTreeMap<u32, Vec<usize>>,
    /// The ends of processes in these steps, which are in no chunk.
    ends: Vec<Change>,
}

impl Candidates {
    pub(super) fn new(steps: &[&StepLevel], grid: &Grid, segments: &[Segment]) -> Candidates {
        let mut by_time = steps.to_vec();
        by_time.sort_unstable_by_key(|step| step.number);
        let (mut chunks, mut ends) = (BTreeMap::<u32, Vec<usize>>::new(), Vec::new());
        for (number, step) in by_time.iter().enumerate() {
            for segment in &segments[step.segments.clone()] {
                if segment.is_end() {
                    ends.push(Change { step: number, ns: segment.first_ns, net_bytes: segment.net_bytes });
                    continue;
                }
                let of_chunk = chunks.entry(segment.chunk).or_default();
                if of_chunk.last() != Some(&number) {
                    of_chunk.push(number);
                }
            }
        }
        let candidate =
            |step: &&StepLevel| Candidate { range: step.range(grid), before_bytes: step.before_bytes };
        Candidates { steps: by_time.iter().map(candidate).collect(), chunks, ends }
    }

    /// The highest moment of each step; `read` gives what a chunk changed in some of them.
    pub(super) fn in_order(&self, read: impl Fn(u32, &[usize]) -> Vec<Change> + Sync) -> Vec<Height> {
        let mut changes: Vec<Change> =
            self.chunks.par_iter().flat_map_iter(|(chunk, steps)| read(*chunk, steps)).collect();
        changes.extend(&self.ends);
        changes.par_sort_unstable_by_key(|change| (change.step, change.ns));
        let of_steps = changes.chunk_by(|a, b| a.step == b.step);
        of_steps.filter_map(|of_step| self.highest(of_step)).collect()
    }

    /// The highest moment of the changes of a step.
    fn highest(&self, changes: &[Change]) -> Option<Height> {
        let mut bytes = self.steps[changes.first()?.step].before_bytes;
        let mut best: Option<Height> = None;
        for instant in changes.chunk_by(|a, b| a.ns == b.ns) {
            bytes = instant.iter().fold(bytes, |sum, change| sum.saturating_add(change.net_bytes));
            let height = Height { bytes, ns: instant[0].ns };
            best.get_or_insert(height).offer(height);
        }
        best
    }

    /// What a chunk changed in some of the steps.
    pub(super) fn read<H: History>(
        &self,
        steps: &[usize],
        reader: &ChangeReader<'_, H>,
        chunk: &NumberedChunk,
        clock: &Clock,
        of: Blocks,
    ) -> Vec<Change> {
        let ticks = |step: &usize| {
            let range = &self.steps[*step].range;
            (*step, clock.first_tick_at(range.start)..clock.first_tick_at(range.end))
        };
        let ranges: Vec<(usize, Range<u64>)> = steps.iter().map(ticks).collect();
        let Some(last) = ranges.last().and_then(|(_, range)| range.end.checked_sub(1)) else {
            return Vec::new();
        };
        let (mut changes, mut at, mut scratch) = (Vec::new(), 0, H::Scratch::default());
        reader.each_change(chunk, of, last, &mut scratch, |ticks, change| {
            while ranges.get(at).is_some_and(|(_, range)| range.end <= ticks) {
                at += 1;
            }
            if let Some((step, range)) = ranges.get(at)
                && range.contains(&ticks)
            {
                changes.push(Change { step: *step, ns: clock.ns(ticks), net_bytes: change.net_bytes() });
            }
        });
        changes
    }
}
