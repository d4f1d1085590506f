//! When a recording begins and ends: what its moments and parts of it are counted from.

use super::grid::choose_grid;
use super::run::by_process;
use crate::input::History;

/// The time of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extent {
    /// Moment 0, CLOCK_MONOTONIC ns.
    pub begin_ns: u64,
    /// From then to the end of the last process, ns.
    pub duration_ns: u64,
}

/// The time of a recording, as the answer of [`crate::analyze`] has it.
pub fn extent<H: History>(history: &H) -> Extent {
    let (session, processes) = (history.session(), history.processes());
    let by_process = by_process(&history.chunks(), processes.len());
    let (begin_ns, grid, _) = choose_grid(&session, &processes, &by_process, 1);
    Extent { begin_ns, duration_ns: grid.end_ns - 1 - begin_ns }
}
