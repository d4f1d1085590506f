//! The choice of the grid that the passes cut time into: a few of its steps make one of the timeline.

use crate::input::{ChunkFacts, Clock, NumberedChunk, ProcessFacts, SessionFacts};
use crate::timeline::Grid;

/// Segments that the first pass may give, about: 100 MiB of them.
const SEGMENTS_MAX: u64 = 1 << 20;
/// How many steps of the grid a step of the timeline may have.
const FINER_MAX: u32 = 8;

/// First and last moment of a process's events, ns.
pub(super) fn span(chunks: &[NumberedChunk], clock: &Clock) -> Option<(u64, u64)> {
    let begin = chunks.iter().map(|chunk| chunk.facts.begin_ticks).min()?;
    let last = chunks.iter().map(|chunk| chunk.facts.last_ticks).max()?;
    Some((clock.ns(begin), clock.ns(last)))
}

/// Moment 0, ns, and a grid from there on, or from where all events are there that a ring has not evicted, to the end of
/// the last process, as fine as the memory for segments allows; and how many of its steps make one of the timeline. A
/// recording may take longer than that to write all of it, and `recover` may come much later: it is the end only where
/// that of a process is not known.
pub(super) fn choose_grid(
    session: &SessionFacts,
    processes: &[ProcessFacts],
    chunks: &[Vec<NumberedChunk>],
    timeline_steps: u32,
) -> (u64, Grid, u32) {
    let timeline_steps = timeline_steps.max(1);
    let spans: Vec<_> = chunks.iter().zip(processes).map(|(c, p)| span(c, &p.clock)).collect();
    let end_ns = |(p, span): (&ProcessFacts, &Option<(u64, u64)>)| {
        p.end_ns(span.map(|span| span.1)).unwrap_or(p.end_mono_ns)
    };
    let begins = processes.iter().map(|p| p.begin_mono_ns).chain([session.begin_mono_ns]);
    let have_ended = !processes.is_empty() && processes.iter().all(|p| p.end_ns(None).is_some());
    let session_end_ns = (!have_ended).then_some(session.end_mono_ns);
    let ends = processes.iter().zip(&spans).map(end_ns).chain(session_end_ns);
    let spans = spans.iter().flatten();
    let begin = begins.filter(|ns| *ns != 0).chain(spans.clone().map(|s| s.0)).min().unwrap_or(0);
    let last = ends.chain(spans.map(|s| s.1)).max().unwrap_or(begin);
    let is_window = session.window_mono_ns > begin;
    let from = begin.max(session.window_mono_ns);
    let last = last.max(from);
    let grid = |finer| Grid {
        is_window,
        ..Grid::new(from, last.saturating_add(1), timeline_steps.saturating_mul(finer))
    };
    let mut finer = FINER_MAX;
    while finer > 1 && segments_expected(&grid(finer), processes, chunks) > SEGMENTS_MAX {
        finer /= 2;
    }
    (begin, grid(finer), finer)
}

fn segments_expected(grid: &Grid, processes: &[ProcessFacts], chunks: &[Vec<NumberedChunk>]) -> u64 {
    let of_process = |(chunks, process): (&Vec<NumberedChunk>, &ProcessFacts)| -> u64 {
        let of_chunk = |c: &ChunkFacts| {
            let ns = process.clock.span_ns(c.last_ticks.saturating_sub(c.begin_ticks));
            (ns / grid.step_ns + 1).min(c.events)
        };
        chunks.iter().map(|chunk| of_chunk(&chunk.facts)).sum()
    };
    chunks.iter().zip(processes).map(of_process).sum()
}
