//! The passes over a recording, in their order:
//!
//! 1. sum every chunk alone, in parallel: counters by stack and thread, segments over time (`sums`);
//! 2. find the highest moment of each process and of all together (`level`, `peak`);
//! 3. sum who held what at those moments (`held`).
//!
//! Events are never stored but for the few that the search for the peak has to bring into order.

use heapscribe_formats::LetGo;
use rayon::prelude::*;

use crate::Options;
use crate::change::Blocks;
use crate::held::{self, Holding};
use crate::input::{ChunkFacts, Clock, History, ProcessFacts, SessionFacts};
use crate::level::{self, Step};
use crate::peak::{Height, Search};
use crate::rates::Rates;
use crate::segment::{Grid, Segment};
use crate::sums::Sums;

/// Segments that the first pass may give, about: 100 MiB of them.
const SEGMENTS_MAX: u64 = 1 << 20;
/// How many steps of the grid a step of the timeline may have.
const FINER_MAX: u32 = 8;

/// What the passes found out.
pub(crate) struct Found {
    pub(crate) grid: Grid,
    /// Steps of the grid in one of the timeline.
    pub(crate) finer: u32,
    pub(crate) peak: Height,
    /// What was live before the first event.
    pub(crate) before_bytes: i64,
    pub(crate) steps: Vec<Step>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) processes: Vec<FoundProcess>,
}

/// What the passes found out about one process.
pub(crate) struct FoundProcess {
    pub(crate) sums: Sums,
    pub(crate) peak: Height,
    /// Who held what at its own peak.
    pub(crate) held: Holding,
    /// Who held what at the peak of all; none where that is the same.
    pub(crate) held_at_common: Option<Holding>,
    /// The highest moment of its pools.
    pub(crate) pools_peak: Height,
    /// The heap's size at the moments of its marks.
    pub(crate) at_marks: Vec<i64>,
    /// First and last moment of its events, ns.
    pub(crate) span: Option<(u64, u64)>,
    /// What was live before the first of its events that were kept.
    pub(crate) before: Before,
}

/// What was live before the first event: something only where a ring let the events before it go.
#[derive(Clone, Copy, Default)]
pub(crate) struct Before {
    pub(crate) bytes: i64,
    pub(crate) blocks: i64,
}

impl Before {
    /// Of sampled blocks it is not known what they stood for.
    fn of<H: History>(process: usize, gone: &LetGo, rates: &Rates<'_, H>) -> Before {
        if gone.is_nothing() || rates.has_any(process) {
            return Before::default();
        }
        Before { bytes: gone.live_bytes(), blocks: gone.came_blocks.wrapping_sub(gone.went_blocks) as i64 }
    }
}

/// Chunks of one process with their numbers.
type Chunks = Vec<(usize, ChunkFacts)>;

/// Runs the passes.
pub(crate) fn run<H: History>(
    history: &H,
    session: &SessionFacts,
    processes: &[ProcessFacts],
    options: &Options,
) -> Found {
    let chunks = history.chunks();
    let clocks: Vec<Clock> = processes.iter().map(|p| p.clock).collect();
    let mut by_process: Vec<Chunks> = vec![Vec::new(); processes.len()];
    for (number, chunk) in chunks.iter().enumerate() {
        if let Some(of_process) = by_process.get_mut(chunk.process) {
            of_process.push((number, *chunk));
        }
    }
    let (grid, finer) = choose_grid(session, processes, &by_process, options.timeline_steps);
    let ordered_events_max = options.ordered_events_max;
    let rates = &Rates::new(history, processes.len());
    let search =
        Search { history, rates, chunks: &chunks, clocks: &clocks, ordered_events_max, of: Blocks::Heap };
    let pools = Search { of: Blocks::Pools, ..search };

    let before: Vec<Before> =
        processes.iter().enumerate().map(|(i, facts)| Before::of(i, &facts.let_go, rates)).collect();
    let mut summed: Vec<(Sums, Vec<Segment>, Height)> = by_process
        .par_iter()
        .zip(&clocks)
        .zip(&before)
        .map(|((chunks, clock), before)| {
            let mut sums = sum(history, rates, chunks, clock, &grid);
            let mut segments = std::mem::take(&mut sums.segments);
            level::sort(&mut segments);
            let peak = search.highest(&grid, &segments, before.bytes);
            (sums, segments, peak)
        })
        .collect();
    let before_bytes = before.iter().fold(0i64, |sum, before| sum.saturating_add(before.bytes));
    let (segments, steps, peak) = together(&search, &grid, &mut summed, before_bytes);

    let of_each = by_process.par_iter().zip(&clocks).zip(&before);
    let found = summed.into_par_iter().zip(of_each).map(|((sums, _, own), ((chunks, clock), before))| {
        let of_process = held::Chunks { history, rates, chunks, clock };
        let at = |ns| of_process.held_at(ns, &sums);
        let held_at_common = (own.ns != peak.ns).then(|| at(peak.ns));
        let mut of_pools = sums.told.pools.segments.clone();
        level::sort(&mut of_pools);
        FoundProcess {
            held: at(own.ns),
            held_at_common,
            peak: own,
            span: span(chunks, clock),
            pools_peak: pools.highest(&grid, &of_pools, 0),
            at_marks: of_process.levels(&sums.told.moments()),
            sums,
            before: *before,
        }
    });
    let processes = found.collect();
    Found { grid, finer, peak, before_bytes, steps, segments, processes }
}

/// All processes as one.
fn together<H: History>(
    search: &Search<'_, H>,
    grid: &Grid,
    summed: &mut [(Sums, Vec<Segment>, Height)],
    before_bytes: i64,
) -> (Vec<Segment>, Vec<Step>, Height) {
    if let [(_, segments, peak)] = summed {
        let segments = std::mem::take(segments);
        let steps = level::steps(&segments, before_bytes);
        return (segments, steps, *peak);
    }
    let mut segments: Vec<Segment> =
        summed.iter_mut().flat_map(|(_, of_one, _)| std::mem::take(of_one)).collect();
    level::sort(&mut segments);
    let steps = level::steps(&segments, before_bytes);
    let best = Height { bytes: before_bytes.max(0), ns: grid.begin_ns };
    let peak = search.higher(grid, &segments, &steps, best);
    (segments, steps, peak)
}

/// Sums the chunks of a process.
fn sum<H: History>(history: &H, rates: &Rates<'_, H>, chunks: &Chunks, clock: &Clock, grid: &Grid) -> Sums {
    chunks
        .par_iter()
        .with_min_len(16)
        .fold(<(H::Scratch, Sums)>::default, |(mut scratch, mut sums), (number, chunk)| {
            match history.events(*number, &mut scratch) {
                Ok(events) => {
                    let mean_of = |rate| rates.mean(chunk.process, rate);
                    sums.add_chunk((*number, chunk), clock, grid, &mean_of, events);
                }
                Err(why) => sums.problems.push(why),
            }
            (scratch, sums)
        })
        .map(|(_, sums)| sums)
        .reduce(Sums::default, Sums::merge)
}

fn span(chunks: &Chunks, clock: &Clock) -> Option<(u64, u64)> {
    let begin = chunks.iter().map(|(_, c)| c.begin_ticks).min()?;
    let last = chunks.iter().map(|(_, c)| c.last_ticks).max()?;
    Some((clock.ns(begin), clock.ns(last)))
}

/// A grid over everything that was recorded, as fine as the memory for segments allows.
fn choose_grid(
    session: &SessionFacts,
    processes: &[ProcessFacts],
    chunks: &[Chunks],
    timeline_steps: u32,
) -> (Grid, u32) {
    let timeline_steps = timeline_steps.max(1);
    let spans: Vec<_> = chunks.iter().zip(processes).filter_map(|(c, p)| span(c, &p.clock)).collect();
    let begins = processes.iter().map(|p| p.begin_mono_ns).chain([session.begin_mono_ns]);
    let ends = processes.iter().map(|p| p.end_mono_ns).chain([session.end_mono_ns]);
    let begin = begins.filter(|ns| *ns != 0).chain(spans.iter().map(|s| s.0)).min().unwrap_or(0);
    let last = ends.chain(spans.iter().map(|s| s.1)).max().unwrap_or(begin);
    let grid = |finer| Grid::new(begin, last.saturating_add(1), timeline_steps.saturating_mul(finer));
    let mut finer = FINER_MAX;
    while finer > 1 && segments_expected(&grid(finer), processes, chunks) > SEGMENTS_MAX {
        finer /= 2;
    }
    (grid(finer), finer)
}

fn segments_expected(grid: &Grid, processes: &[ProcessFacts], chunks: &[Chunks]) -> u64 {
    let of_process = |(chunks, process): (&Chunks, &ProcessFacts)| -> u64 {
        let of_chunk = |c: &ChunkFacts| {
            let ns = process.clock.span_ns(c.last_ticks.saturating_sub(c.begin_ticks));
            (ns / grid.step_ns + 1).min(c.events)
        };
        chunks.iter().map(|(_, c)| of_chunk(c)).sum()
    };
    chunks.iter().zip(processes).map(of_process).sum()
}
