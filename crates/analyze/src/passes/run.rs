//! The passes over a recording, in their order:
//!
//! 1. sum every chunk alone, in parallel: counters by stack and thread, segments over time (`sums`);
//! 2. find the highest moment of each process and of all together (`timeline`, `peak`);
//! 3. sum who held what at those moments (`peak`).
//!
//! Events are never stored but for the few that the search for the peak has to bring into order.

use rayon::prelude::*;

use super::ascent::ascent;
use super::ends;
use super::grid::{choose_grid, span};
use super::halves::{self, OfProcess};
use super::lost::chunk_damage;
use super::pools;
use super::results::{PassResults, ProcessResults};
use crate::counters::Life;
use crate::events::Blocks;
use crate::input::{ChunkFacts, Clock, History, NumberedChunk, ProcessFacts, SessionFacts};
use crate::options::Options;
use crate::peak::{
    ChangeReader, ChunkGroup, Height, Holding, InWindow, Levels, LiveAtStart, LiveEnd, Search, StartOf,
};
use crate::sampling::{Half, Rates};
use crate::sums::{ProcessSums, add_chunk};
use crate::timeline::{Grid, Segment, StepLevel, sort_segments, step_levels};

/// Runs the passes.
pub(crate) fn run<H: History>(
    history: &H,
    session: &SessionFacts,
    processes: &[ProcessFacts],
    options: &Options,
) -> PassResults {
    let chunks = history.chunks();
    let clocks: Vec<Clock> = processes.iter().map(|p| p.clock).collect();
    let by_process = by_process(&chunks, processes.len());
    let (begin_ns, grid, finer) = choose_grid(session, processes, &by_process, options.timeline_steps);
    let rates = &Rates::new(history, processes.len());
    let reader = ChangeReader { history, rates };
    let ordered_events_max = options.ordered_events_max;
    let search = Search { reader, chunks: &chunks, clocks: &clocks, ordered_events_max, of: Blocks::Heap };

    let ends: Vec<_> = (0..processes.len()).map(|process| LiveEnd::read(history, process, rates)).collect();
    let before = starts(processes, &by_process, &ends, &reader, &grid);
    let lives: Vec<Life> =
        processes.iter().zip(&by_process).map(|(facts, chunks)| life(facts, chunks, &grid)).collect();
    let mut summed: Vec<ProcessSummed> = by_process
        .par_iter()
        .zip(clocks.par_iter().zip(&lives))
        .zip(&before)
        .map(|((of_process, (clock, life)), before)| {
            let len = ChunkGroup::len_for(of_process.len(), chunks.len());
            let summed = sum(&reader, of_process, len, (clock, life), &grid);
            of_own(summed, &search, clock, &grid, before)
        })
        .collect();
    let before_bytes = add_ends(&mut summed, processes, &by_process, &before, &grid);
    let (segments, steps, peak) = together(&search, &grid, &mut summed, before_bytes);
    let life_ns = summed.iter().max_by_key(|of| of.peak.bytes).map_or(0, ProcessSummed::life_ns);
    let ascent = ascent(&grid, (&steps, &segments), peak, life_ns);
    let half_peaks = half_peaks(&search, &grid, &summed, &by_process, &before);

    let of_each = clocks.par_iter().zip(before).zip(ends).enumerate();
    let results = summed.into_par_iter().zip(of_each).map(|(summed, (number, ((clock, before), end)))| {
        let in_window = InWindow::of(&before, &by_process[number], clock, &grid, reader);
        let at = |ns| match &in_window {
            Some(in_window) => in_window.holding(ns),
            None => Holding::at(ns, &before.net, &reader, &summed.groups, clock),
        };
        // What a process held went with its end, which may be before the window of a ring.
        let has_ended = |ns| summed.end_ns.is_some_and(|end_ns| end_ns <= ns);
        let at_common = |ns| if has_ended(ns) { Holding::default() } else { at(ns) };
        let (mut sums, (live_end, unread)) = (summed.sums, end);
        sums.problems.extend(unread);
        let of_process = (number, &by_process[number][..]);
        let pools_held = pools::held(&search, &grid, &before, of_process, (&sums, summed.pools_peak));
        ProcessResults {
            held: at_common(summed.peak.ns),
            held_at_ascent: ascent.map(|ascent| at_common(ascent.ns)),
            held_at_halves: half_peaks.map(|peaks| peaks.map(at_common)),
            half_life_ns: clock.ns(lives[number].half_ticks),
            held_at_common: (summed.peak.ns != peak.ns).then(|| at_common(peak.ns)),
            peak: summed.peak,
            span: summed.span,
            pools_peak: summed.pools_peak,
            pools_held,
            at_marks: summed.at_marks,
            sums,
            left: in_window.as_ref().map(|in_window| in_window.holding(u64::MAX)),
            live_end,
        }
    });
    let processes = results.collect();
    PassResults { begin_ns, grid, finer, peak, ascent, before_bytes, steps, segments, processes }
}

/// When each half of the sample has its peak, ns; none where nothing was sampled.
fn half_peaks<H: History>(
    search: &Search<'_, H>,
    grid: &Grid,
    summed: &[ProcessSummed],
    by_process: &[Vec<NumberedChunk>],
    before: &[LiveAtStart],
) -> Option<[u64; 2]> {
    let is_sampled = (0..summed.len()).any(|process| search.reader.rates.has_any(process));
    is_sampled.then(|| {
        let of_each = summed.iter().zip(by_process).zip(before);
        let of = of_each.map(|((summed, chunks), before)| {
            let before_bytes = Half::ALL.map(|half| before.bytes_in(half));
            OfProcess { chunks, before_bytes, end_ns: summed.end_ns }
        });
        halves::peaks(search, grid, &of.collect::<Vec<_>>())
    })
}

/// Adds the ends of processes to their segments; what all of them held when the grid began.
fn add_ends(
    summed: &mut [ProcessSummed],
    processes: &[ProcessFacts],
    by_process: &[Vec<NumberedChunk>],
    before: &[LiveAtStart],
    grid: &Grid,
) -> i64 {
    let mut before_bytes = 0i64;
    for (number, summed) in summed.iter_mut().enumerate() {
        summed.span = span(&by_process[number], &processes[number].clock);
        summed.end_ns = processes[number].end_ns(summed.span.map(|span| span.1));
        if summed.end_ns.is_some_and(|ns| grid.is_before(ns)) {
            // Gone when the window of the ring began: it held nothing then.
            summed.peak = Height { bytes: 0, ns: grid.begin_ns };
            continue;
        }
        before_bytes = before_bytes.saturating_add(before[number].bytes);
        let live_bytes = ends::live_bytes(&summed.segments, before[number].bytes);
        let end = |ns| ends::segment(number, ns, live_bytes, grid);
        let end = summed.end_ns.and_then(end);
        summed.segments.extend(end);
    }
    before_bytes
}

/// What was live in each process before its events.
fn starts<H: History>(
    processes: &[ProcessFacts],
    by_process: &[Vec<NumberedChunk>],
    ends: &[(Option<LiveEnd>, Option<String>)],
    reader: &ChangeReader<'_, H>,
    grid: &Grid,
) -> Vec<LiveAtStart> {
    let of_each = processes.par_iter().zip(by_process).zip(ends).enumerate();
    let start = |(number, ((facts, chunks), (end, _))): (usize, ((&ProcessFacts, &Vec<_>), &(_, _)))| {
        let start = StartOf {
            evicted: &facts.evicted,
            end: Option::as_ref(end),
            is_sampled: grid.is_window && reader.rates.has_any(number),
            chunks,
            clock: &facts.clock,
            grid,
            reader: *reader,
        };
        start.live()
    };
    of_each.map(start).collect()
}

/// The life of a process, or what of it is in the window of a ring.
fn life(facts: &ProcessFacts, chunks: &[NumberedChunk], grid: &Grid) -> Life {
    let Some((first_ns, last_ns)) = span(chunks, &facts.clock) else { return Life::new(0, 0) };
    let begin_ns = if facts.begin_mono_ns == 0 { first_ns } else { facts.begin_mono_ns.min(first_ns) };
    let begin_ns = if grid.is_window { begin_ns.max(grid.begin_ns) } else { begin_ns };
    let end_ns = facts.end_mono_ns.max(last_ns);
    Life::new(facts.clock.first_tick_at(begin_ns), facts.clock.first_tick_at(end_ns))
}

/// The chunks of each of so many processes.
pub(super) fn by_process(chunks: &[ChunkFacts], processes: usize) -> Vec<Vec<NumberedChunk>> {
    let mut by_process: Vec<Vec<NumberedChunk>> = vec![Vec::new(); processes];
    for (number, chunk) in chunks.iter().enumerate() {
        if let Some(of_process) = by_process.get_mut(chunk.process) {
            of_process.push(NumberedChunk { number, facts: *chunk });
        }
    }
    by_process
}

/// What the chunks of a process add up to, and its groups of them.
#[derive(Default)]
struct GroupedSums {
    sums: ProcessSums,
    groups: Vec<ChunkGroup>,
}

impl GroupedSums {
    fn merge(mut self, mut other: GroupedSums) -> GroupedSums {
        self.groups.append(&mut other.groups);
        GroupedSums { sums: self.sums.merge(other.sums), groups: self.groups }
    }
}

/// A process after the first pass, and the moments that it needs no other process for.
struct ProcessSummed {
    sums: ProcessSums,
    groups: Vec<ChunkGroup>,
    /// Its own ones, sorted, and then its end.
    segments: Vec<Segment>,
    /// First and last moment of its events, ns.
    span: Option<(u64, u64)>,
    /// When it ended, ns.
    end_ns: Option<u64>,
    peak: Height,
    pools_peak: Height,
    at_marks: Vec<i64>,
}

impl ProcessSummed {
    /// How long it lived, ns.
    fn life_ns(&self) -> u64 {
        let (first_ns, last_ns) = self.span.unwrap_or_default();
        self.end_ns.unwrap_or(last_ns).max(last_ns).saturating_sub(first_ns)
    }
}

/// The moments of a process: its peak, that of its pools, its marks.
fn of_own<H: History>(
    GroupedSums { mut sums, groups }: GroupedSums,
    search: &Search<'_, H>,
    clock: &Clock,
    grid: &Grid,
    before: &LiveAtStart,
) -> ProcessSummed {
    let mut segments = std::mem::take(&mut sums.segments);
    sort_segments(&mut segments);
    let mut of_pools = std::mem::take(&mut sums.annotations.pools.segments);
    sort_segments(&mut of_pools);
    let before_bytes = before.bytes;
    let levels = Levels { clock, grid, segments: &segments, chunks: search.chunks, before_bytes };
    ProcessSummed {
        peak: search.highest(grid, &segments, before_bytes),
        pools_peak: Search { of: Blocks::Pools, ..*search }.highest(grid, &of_pools, before.pool_bytes),
        at_marks: levels.at(&sums.annotations.moments(), &search.reader),
        sums,
        groups,
        segments,
        span: None,
        end_ns: None,
    }
}

/// All processes as one.
fn together<H: History>(
    search: &Search<'_, H>,
    grid: &Grid,
    summed: &mut [ProcessSummed],
    before_bytes: i64,
) -> (Vec<Segment>, Vec<StepLevel>, Height) {
    if let [alone] = summed {
        let mut segments = std::mem::take(&mut alone.segments);
        sort_segments(&mut segments);
        let steps = step_levels(&segments, before_bytes);
        return (segments, steps, alone.peak);
    }
    let mut segments: Vec<Segment> =
        summed.iter_mut().flat_map(|of_one| std::mem::take(&mut of_one.segments)).collect();
    sort_segments(&mut segments);
    let steps = step_levels(&segments, before_bytes);
    let peak = search.highest_of(grid, &segments, &steps, before_bytes);
    (segments, steps, peak)
}

/// Sums the chunks of a process, in groups of so many that follow each other in time.
fn sum<H: History>(
    reader: &ChangeReader<'_, H>,
    chunks: &[NumberedChunk],
    group_len: usize,
    clock: (&Clock, &Life),
    grid: &Grid,
) -> GroupedSums {
    let mut by_time = chunks.to_vec();
    by_time.sort_unstable_by_key(|chunk| (chunk.facts.begin_ticks, chunk.number));
    let groups = by_time.len().div_ceil(group_len).max(1);
    by_time
        .par_chunks(group_len)
        .map(|of_group| {
            let sums = sum_group(reader, (of_group, groups), clock, grid);
            let group = ChunkGroup::new(of_group, &sums);
            GroupedSums { sums, groups: vec![group] }
        })
        .reduce(GroupedSums::default, GroupedSums::merge)
}

fn sum_group<H: History>(
    reader: &ChangeReader<'_, H>,
    (chunks, groups): (&[NumberedChunk], usize),
    clock: (&Clock, &Life),
    grid: &Grid,
) -> ProcessSums {
    // Each part has rows for all of its stacks, so there are no more of them than keep all cores at work.
    let parts = (2 * rayon::current_num_threads()).div_ceil(groups);
    chunks
        .par_iter()
        .with_min_len((chunks.len() / parts).max(16))
        .fold(<(H::Scratch, ProcessSums)>::default, |(mut scratch, mut sums), chunk| {
            let is_damaged = match reader.history.events(chunk.number, &mut scratch) {
                Ok(events) => {
                    let mean_of = |rate| reader.rates.mean(chunk.facts.process, rate);
                    add_chunk(&mut sums, chunk, clock, grid, &mean_of, events)
                }
                Err(_) => true,
            };
            if is_damaged {
                let damage = chunk_damage(reader.history, chunk.number, &chunk.facts, &mut scratch);
                damage.into_iter().for_each(|damage| sums.damaged(damage.events, damage.what));
            }
            (scratch, sums)
        })
        .map(|(_, sums)| sums)
        .reduce(ProcessSums::default, ProcessSums::merge)
}
