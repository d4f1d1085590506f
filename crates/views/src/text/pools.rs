//! The pools of our pool heap in `report --memory`: what each has, and what the heap counted itself.

use std::io;

use heapscribe_analyze::memory::{Memory, PoolFigures};
use heapscribe_units::{counted, duration, short_bytes};

use super::findings::wrapped;
use super::{Out, heading};

/// Pools that are listed.
const POOLS_MAX: usize = 10;

/// Prints them, where there are any; blocks are of this moment, CLOCK_MONOTONIC ns.
pub(super) fn print(out: Out<'_>, m: &Memory, taken_mono_ns: u64, width: usize) -> io::Result<()> {
    if m.pools.is_empty() && m.statistics.is_none() {
        return Ok(());
    }
    heading(out, "The pools of the heap")?;
    if !m.pools.is_empty() {
        let cells = ["pool", "in memory", "in blocks", "free", "cached", "free blocks", "largest"];
        row(out, "at", &cells.map(str::to_owned))?;
    }
    for of in m.pools.iter().take(POOLS_MAX) {
        let sizes = [of.pool_bytes, of.resident_bytes, of.used_bytes, of.free_bytes, of.cached_bytes];
        let [pool, resident, used, free, cached] = sizes.map(short_bytes);
        let cells = [pool, resident, used, free, cached, of.free_blocks.to_string()];
        let [a, b, c, d, e, f] = cells;
        row(out, &format!("{:#x}", of.start), &[a, b, c, d, e, f, short_bytes(of.largest_free_bytes)])?;
    }
    if m.pools.len() > POOLS_MAX {
        let sum = |of: fn(&PoolFigures) -> u64| short_bytes(m.pools[POOLS_MAX..].iter().map(of).sum());
        let (all, free) = (sum(|of| of.pool_bytes), sum(|of| of.free_bytes));
        let more = counted((m.pools.len() - POOLS_MAX) as u64, "more pool");
        writeln!(out, "  {more}: {all}, of which {free} are free.")?;
    }
    if !m.pools.is_empty() {
        writeln!(
            out,
            "  In blocks: with the header of each. Cached: free, and kept by threads for themselves."
        )?;
    }
    let Some((_, sample)) = &m.statistics else { return Ok(()) };
    let c = &sample.counts;
    let when = match taken_mono_ns.checked_sub(sample.mono_ns) {
        Some(before) => format!("{} before", duration(before)),
        None => format!("{} after", duration(sample.mono_ns - taken_mono_ns)),
    };
    let own = format!(
        "  The heap's own count, {when}: {} in {}, {} at the most, {} free in {}, the largest {}.",
        short_bytes(c.used_bytes),
        counted(c.blocks, "block"),
        short_bytes(c.peak_bytes),
        short_bytes(c.free_bytes),
        counted(c.free_blocks, "piece"),
        short_bytes(c.largest_free_bytes)
    );
    wrapped(&own, width, 2).iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn row(out: Out<'_>, at: &str, cells: &[String; 7]) -> io::Result<()> {
    let [pool, resident, used, free, cached, blocks, largest] = cells;
    writeln!(
        out,
        "  {at:<14} {pool:>9} {resident:>9} {used:>9} {free:>9} {cached:>9} {blocks:>11} {largest:>9}"
    )
}
