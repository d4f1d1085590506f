//! The highest moment alone, without who held what at it: for those who want no other figure.

use super::ends;
use super::grid::{choose_grid, span};
use super::run::by_process;
use crate::events::Blocks;
use crate::input::{Clock, History};
use crate::options::Options;
use crate::peak::{ChangeReader, Search};
use crate::sampling::Rates;
use crate::timeline::sort_segments;

/// The moment when all processes together held the most bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Highest {
    /// Bytes live at that moment.
    pub bytes: u64,
    /// When, ns since moment 0.
    pub time_ns: u64,
}

/// The peak that [`crate::analyze`] finds, of a recording of which no ring evicted anything.
pub fn highest<H: History>(history: &H, options: &Options) -> Highest {
    let (session, processes, chunks) = (history.session(), history.processes(), history.chunks());
    let by_process = by_process(&chunks, processes.len());
    let (begin_ns, grid, _) = choose_grid(&session, &processes, &by_process, options.timeline_steps);
    let clocks: Vec<Clock> = processes.iter().map(|process| process.clock).collect();
    let rates = Rates::new(history, processes.len());
    let reader = ChangeReader { history, rates: &rates };
    let ordered_events_max = options.ordered_events_max;
    let search = Search { reader, chunks: &chunks, clocks: &clocks, ordered_events_max, of: Blocks::Heap };
    let mut segments = Vec::new();
    for (number, (of_process, facts)) in by_process.iter().zip(&processes).enumerate() {
        let numbers: Vec<u32> = of_process.iter().map(|chunk| chunk.number as u32).collect();
        let own = search.cut(&grid, &numbers);
        let end = facts.end_ns(span(of_process, &facts.clock).map(|span| span.1));
        segments.extend(end.and_then(|ns| ends::segment(number, ns, &own, 0, &grid)));
        segments.extend(own);
    }
    sort_segments(&mut segments);
    let peak = search.highest(&grid, &segments, 0);
    let bytes = u64::try_from(peak.bytes).unwrap_or(0);
    Highest { bytes, time_ns: peak.ns.saturating_sub(begin_ns) }
}
