//! The heap over time and its highest moment, without who held what: for those who want no other figure, and for those
//! who pass over all events anyway and cut them on their way.

use rayon::prelude::*;

use super::ends;
use super::grid::{choose_grid, span};
use super::run::by_process;
use crate::answer::Timeline;
use crate::events::Blocks;
use crate::input::{ChunkFacts, Clock, History, NumberedChunk, ProcessFacts};
use crate::options::Options;
use crate::peak::{ChangeReader, Search};
use crate::sampling::Rates;
use crate::timeline::{Cutter, Grid, HeapLevels, ProcessStep, Segment, process_steps, step_levels};

/// The moment when all processes together held the most bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Highest {
    /// Bytes live at that moment.
    pub bytes: u64,
    /// When, ns since moment 0.
    pub time_ns: u64,
}

/// The heap over time.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeapOverTime {
    /// The peak that [`crate::analyze`] finds.
    pub peak: Highest,
    /// The heap of all processes together as its timeline has it, without what was measured of processes, see
    /// [`add_samples`](crate::add_samples).
    pub timeline: Timeline,
    /// By step and process.
    pub processes: Vec<ProcessStep>,
}

/// The heap over time in a pass over all events, of a recording of which no ring evicted anything.
pub fn over_time<H: History>(history: &H, options: &Options) -> HeapOverTime {
    let rates = Rates::new(history, history.processes().len());
    let cuts = HeapCuts::new(history, &rates, options);
    let numbers: Vec<u32> = cuts.by_process.iter().flatten().map(|chunk| chunk.number as u32).collect();
    cuts.finish(cuts.search().cut(&cuts.grid, &numbers))
}

/// The heap in a part of the time of a recording of which no ring evicted anything, CLOCK_MONOTONIC ns: as the timeline
/// of the whole has it, in as many steps. Of each process `before_bytes` says what was live before that part; the
/// `peak` is that of the whole.
pub fn heap_within<H: History>(
    history: &H,
    (from_ns, to_ns): (u64, u64),
    before_bytes: &[i64],
    peak: Highest,
    options: &Options,
) -> Timeline {
    let rates = Rates::new(history, history.processes().len());
    let cuts = HeapCuts::new(history, &rates, options);
    let grid = Grid::new(from_ns, to_ns, options.timeline_steps);
    let reaches_in = |chunk: &&NumberedChunk| {
        let clock = &cuts.clocks[chunk.facts.process];
        clock.ns(chunk.facts.begin_ticks) < grid.end_ns && clock.ns(chunk.facts.last_ticks) >= from_ns
    };
    let chunks = cuts.by_process.iter().flatten().filter(reaches_in);
    let mut segments = cuts.search().cut(&grid, &chunks.map(|chunk| chunk.number as u32).collect::<Vec<_>>());
    let mut ends = cuts.ends(&grid, before_bytes.to_vec(), &segments);
    ends.retain(|end| (from_ns..grid.end_ns).contains(&end.first_ns));
    segments.extend(ends);
    segments.par_sort_unstable_by_key(Segment::place);
    let before_bytes = before_bytes.iter().sum();
    let levels = step_levels(&segments, before_bytes);
    let heap = HeapLevels { grid: &grid, finer: 1, before_bytes, levels: &levels, segments: &segments };
    let peak_ns = cuts.begin_ns.saturating_add(peak.time_ns);
    let has_peak = (from_ns..grid.end_ns).contains(&peak_ns);
    let peak_bytes = if has_peak { i64::try_from(peak.bytes).unwrap_or(i64::MAX) } else { 0 };
    Timeline {
        begin_ns: from_ns.saturating_sub(cuts.begin_ns),
        step_ns: grid.step_ns,
        steps: heap.steps(peak_ns, peak_bytes),
    }
}

/// The peak that [`crate::analyze`] finds, of a recording of which no ring evicted anything.
pub fn highest<H: History>(history: &H, options: &Options) -> Highest {
    over_time(history, options).peak
}

/// Cuts the chunks of a recording into segments, and looks for the peak in these.
pub struct HeapCuts<'a, H> {
    reader: ChangeReader<'a, H>,
    processes: Vec<ProcessFacts>,
    chunks: Vec<ChunkFacts>,
    clocks: Vec<Clock>,
    by_process: Vec<Vec<NumberedChunk>>,
    begin_ns: u64,
    grid: Grid,
    finer: u32,
    ordered_events_max: u64,
}

impl<'a, H: History> HeapCuts<'a, H> {
    /// Of a recording with these rates.
    pub fn new(history: &'a H, rates: &'a Rates<'a, H>, options: &Options) -> HeapCuts<'a, H> {
        let (processes, chunks) = (history.processes(), history.chunks());
        let by_process = by_process(&chunks, processes.len());
        let (begin_ns, grid, finer) =
            choose_grid(&history.session(), &processes, &by_process, options.timeline_steps);
        HeapCuts {
            reader: ChangeReader { history, rates },
            clocks: processes.iter().map(|process| process.clock).collect(),
            processes,
            chunks,
            by_process,
            begin_ns,
            grid,
            finer,
            ordered_events_max: options.ordered_events_max,
        }
    }

    /// Cuts a chunk of one of the processes, to which its events are given in their order: what each changes of the
    /// heap.
    pub fn cutter<'c>(&'c self, chunk: usize, segments: &'c mut Vec<Segment>) -> Cutter<'c> {
        let facts = self.chunks[chunk];
        let numbered = NumberedChunk { number: chunk, facts };
        Cutter::new(&numbered, &self.clocks[facts.process], &self.grid, segments)
    }

    /// The heap over time, of the segments of all chunks in any order.
    pub fn finish(&self, mut segments: Vec<Segment>) -> HeapOverTime {
        segments.extend(self.ends(&self.grid, vec![0; self.processes.len()], &segments));
        segments.par_sort_unstable_by_key(Segment::place);
        let levels = step_levels(&segments, 0);
        let peak = self.search().highest_of(&self.grid, &segments, &levels, 0);
        let heap = HeapLevels {
            grid: &self.grid,
            finer: self.finer,
            before_bytes: 0,
            levels: &levels,
            segments: &segments,
        };
        let timeline = Timeline {
            begin_ns: self.grid.begin_ns.saturating_sub(self.begin_ns),
            step_ns: self.grid.step_ns.saturating_mul(u64::from(self.finer)),
            steps: heap.steps(peak.ns, peak.bytes),
        };
        HeapOverTime {
            peak: Highest {
                bytes: u64::try_from(peak.bytes).unwrap_or(0),
                time_ns: peak.ns.saturating_sub(self.begin_ns),
            },
            timeline,
            processes: process_steps(&segments, &self.grid, self.finer, self.processes.len()),
        }
    }

    /// The ends of the processes, which held so much before these segments.
    fn ends(&self, grid: &Grid, mut live_bytes: Vec<i64>, segments: &[Segment]) -> Vec<Segment> {
        for segment in segments {
            let of_process = &mut live_bytes[segment.process as usize];
            *of_process = of_process.saturating_add(segment.net_bytes);
        }
        let end = |(number, facts): (usize, &ProcessFacts)| {
            let last_ns = span(&self.by_process[number], &facts.clock).map(|span| span.1);
            ends::segment(number, facts.end_ns(last_ns)?, live_bytes[number], grid)
        };
        self.processes.iter().enumerate().filter_map(end).collect()
    }

    fn search(&self) -> Search<'_, H> {
        Search {
            reader: self.reader,
            chunks: &self.chunks,
            clocks: &self.clocks,
            ordered_events_max: self.ordered_events_max,
            of: Blocks::Heap,
        }
    }
}
