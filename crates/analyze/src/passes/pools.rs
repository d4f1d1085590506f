//! What was live in the pools of a process at their peak, for the range that it lies in. Only of processes with
//! samples, whose events are few: they are read again.

use super::halves::{self, OfProcess};
use crate::events::Blocks;
use crate::input::{History, NumberedChunk};
use crate::peak::{Height, Holding, LiveAtStart, Search};
use crate::sampling::Half;
use crate::sums::ProcessSums;
use crate::timeline::Grid;

/// What was live in the pools of a process.
#[derive(Debug)]
pub(crate) struct PoolsHeld {
    /// At their peak.
    pub(crate) at_peak: Holding,
    /// When each half of the sample has it.
    pub(crate) at_halves: [Holding; 2],
}

/// What was live in the pools of a process, of these sums and that peak; nothing where none of their blocks were sampled.
pub(super) fn held<H: History>(
    search: &Search<'_, H>,
    grid: &Grid,
    before: &LiveAtStart,
    (process, chunks): (usize, &[NumberedChunk]),
    (sums, peak): (&ProcessSums, Height),
) -> Option<PoolsHeld> {
    if !sums.annotations.pools.is_sampled() {
        return None;
    }
    let search = Search { of: Blocks::Pools, ..*search };
    let before_bytes = Half::ALL.map(|half| before.pool_bytes_in(half));
    let peaks = halves::peaks(&search, grid, &[OfProcess { chunks, before_bytes, end_ns: None }]);
    let clock = &search.clocks[process];
    let at = |ns| Holding::of_pools_at(ns, &before.pools, &search.reader, chunks, clock);
    Some(PoolsHeld { at_peak: at(peak.ns), at_halves: peaks.map(at) })
}
