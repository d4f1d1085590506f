//! The passes over a recording, in their order:
//!
//! 1. sum every chunk alone, in parallel: counters by stack and thread, segments over time (`sums`);
//! 2. find the highest moment of each process and of all together (`timeline`, `peak`);
//! 3. sum who held what at those moments (`peak`).
//!
//! Events are never stored but for the few that the search for the peak has to bring into order.

use rayon::prelude::*;

use super::grid::{choose_grid, span};
use super::results::{LiveAtStart, PassResults, ProcessResults};
use crate::events::Blocks;
use crate::input::{Clock, History, NumberedChunk, ProcessFacts, SessionFacts};
use crate::options::Options;
use crate::peak::{Height, ProcessChunks, Search};
use crate::sampling::Rates;
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
    let mut by_process: Vec<Vec<NumberedChunk>> = vec![Vec::new(); processes.len()];
    for (number, chunk) in chunks.iter().enumerate() {
        if let Some(of_process) = by_process.get_mut(chunk.process) {
            of_process.push(NumberedChunk { number, facts: *chunk });
        }
    }
    let (grid, finer) = choose_grid(session, processes, &by_process, options.timeline_steps);
    let ordered_events_max = options.ordered_events_max;
    let rates = &Rates::new(history, processes.len());
    let search =
        Search { history, rates, chunks: &chunks, clocks: &clocks, ordered_events_max, of: Blocks::Heap };
    let pools = Search { of: Blocks::Pools, ..search };

    let before: Vec<LiveAtStart> =
        processes.iter().enumerate().map(|(i, facts)| LiveAtStart::of(i, &facts.let_go, rates)).collect();
    let mut summed: Vec<(ProcessSums, Vec<Segment>, Height)> = by_process
        .par_iter()
        .zip(&clocks)
        .zip(&before)
        .map(|((chunks, clock), before)| {
            let mut sums = sum(history, rates, chunks, clock, &grid);
            let mut segments = std::mem::take(&mut sums.segments);
            sort_segments(&mut segments);
            let peak = search.highest(&grid, &segments, before.bytes);
            (sums, segments, peak)
        })
        .collect();
    let before_bytes = before.iter().fold(0i64, |sum, before| sum.saturating_add(before.bytes));
    let (segments, steps, peak) = together(&search, &grid, &mut summed, before_bytes);

    let of_each = by_process.par_iter().zip(&clocks).zip(&before);
    let found = summed.into_par_iter().zip(of_each).map(|((sums, _, own), ((chunks, clock), before))| {
        let of_process = ProcessChunks { history, rates, chunks, clock };
        let at = |ns| of_process.held_at(ns, &sums);
        let held_at_common = (own.ns != peak.ns).then(|| at(peak.ns));
        let mut of_pools = sums.annotations.pools.segments.clone();
        sort_segments(&mut of_pools);
        ProcessResults {
            held: at(own.ns),
            held_at_common,
            peak: own,
            span: span(chunks, clock),
            pools_peak: pools.highest(&grid, &of_pools, 0),
            at_marks: of_process.levels(&sums.annotations.moments()),
            sums,
            before: *before,
        }
    });
    let processes = found.collect();
    PassResults { grid, finer, peak, before_bytes, steps, segments, processes }
}

/// All processes as one.
fn together<H: History>(
    search: &Search<'_, H>,
    grid: &Grid,
    summed: &mut [(ProcessSums, Vec<Segment>, Height)],
    before_bytes: i64,
) -> (Vec<Segment>, Vec<StepLevel>, Height) {
    if let [(_, segments, peak)] = summed {
        let segments = std::mem::take(segments);
        let steps = step_levels(&segments, before_bytes);
        return (segments, steps, *peak);
    }
    let mut segments: Vec<Segment> =
        summed.iter_mut().flat_map(|(_, of_one, _)| std::mem::take(of_one)).collect();
    sort_segments(&mut segments);
    let steps = step_levels(&segments, before_bytes);
    let best = Height { bytes: before_bytes.max(0), ns: grid.begin_ns };
    let peak = search.higher(grid, &segments, &steps, best);
    (segments, steps, peak)
}

/// Sums the chunks of a process.
fn sum<H: History>(
    history: &H,
    rates: &Rates<'_, H>,
    chunks: &[NumberedChunk],
    clock: &Clock,
    grid: &Grid,
) -> ProcessSums {
    chunks
        .par_iter()
        .with_min_len(16)
        .fold(<(H::Scratch, ProcessSums)>::default, |(mut scratch, mut sums), chunk| {
            match history.events(chunk.number, &mut scratch) {
                Ok(events) => {
                    let mean_of = |rate| rates.mean(chunk.facts.process, rate);
                    add_chunk(&mut sums, chunk, clock, grid, &mean_of, events);
                }
                Err(why) => sums.problems.push(why),
            }
            (scratch, sums)
        })
        .map(|(_, sums)| sums)
        .reduce(ProcessSums::default, ProcessSums::merge)
}
