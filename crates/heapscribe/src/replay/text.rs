//! The comparison of heaps as tables.

use std::io;

use heapscribe_replay::Timed;

use super::compare::{Comparison, Heap};
use heapscribe_units::{count, counted, duration, short_bytes};
use heapscribe_views::text::{Out, heading};

/// Rows of the table over time.
const ROWS: usize = 10;
const LABEL: usize = 24;
const COLUMN: usize = 14;

/// Prints it.
pub(crate) fn print(out: Out<'_>, comparison: &Comparison) -> io::Result<()> {
    let c = comparison;
    writeln!(out, "{}", c.process.name())?;
    let (calls, peak) = (counted(c.calls, "call"), c.process.at_least(&short_bytes(c.peak_live_bytes)));
    let blocks = counted(c.peak_live_blocks, "block");
    writeln!(out, "  {calls}; peak {peak} in {blocks}, at {}.", duration(c.peak_ns))?;
    if c.threads > 1 {
        let threads = counted(c.threads as u64, "thread");
        writeln!(out, "  {threads} made the calls; one thread replays them in time order.")?;
    }
    if let Some(others) = c.process.about_others() {
        writeln!(out, "  {others}")?;
    }
    for why in &c.process.estimate {
        writeln!(out, "  Estimate only: {why}.")?;
    }
    memory(out, c)?;
    over_time(out, c)?;
    latency(out, c)
}

fn row(out: Out<'_>, c: &Comparison, label: &str, cell: impl Fn(&Heap) -> String) -> io::Result<()> {
    write!(out, "  {label:<LABEL$}")?;
    for heap in &c.heaps {
        let cell = if heap.error.is_some() { "-".to_owned() } else { cell(heap) };
        write!(out, " {cell:>COLUMN$}")?;
    }
    writeln!(out)
}

fn names(out: Out<'_>, c: &Comparison, label: &str) -> io::Result<()> {
    write!(out, "  {label:<LABEL$}")?;
    for heap in &c.heaps {
        let name = heap.name.split(".so").next().unwrap_or_default();
        write!(out, " {:>COLUMN$}", name.chars().take(COLUMN).collect::<String>())?;
    }
    writeln!(out)
}

fn memory(out: Out<'_>, c: &Comparison) -> io::Result<()> {
    heading(out, "Memory")?;
    names(out, c, "")?;
    row(out, c, "peak footprint", |heap| short_bytes(heap.peak_footprint_bytes))?;
    row(out, c, "  per live byte", |heap| format!("{:.2}", heap.peak_ratio))?;
    row(out, c, "  average over time", |heap| format!("{:.2}", heap.mean_ratio))?;
    row(out, c, "free, not in one block", |heap| {
        heap.torn_max_bytes.map_or_else(|| "unknown".to_owned(), short_bytes)
    })?;
    row(out, c, "failed requests", |heap| count(heap.failures))?;
    if c.heaps.iter().any(|heap| heap.pools > 0) {
        let told = |heap: &Heap| format!("{} in {}", short_bytes(heap.pool_bytes), heap.pools);
        row(out, c, "pools", |heap| if heap.pools > 0 { told(heap) } else { "-".to_owned() })?;
    }
    Ok(())
}

/// Live bytes, and the footprint of each heap, at some moments.
fn over_time(out: Out<'_>, c: &Comparison) -> io::Result<()> {
    let Some(some) = c.heaps.iter().find(|heap| !heap.footprint.moments.is_empty()) else { return Ok(()) };
    let moments = &some.footprint.moments;
    heading(out, "Footprint over time")?;
    names(out, c, &format!("{:>11} {:>11}", "time", "live"))?;
    let step = moments.len().div_ceil(ROWS).max(1);
    for (at, moment) in moments.iter().enumerate().skip(step - 1).step_by(step) {
        let (time, live) = (duration(moment.ns), short_bytes(moment.live_bytes));
        row(out, c, &format!("{time:>11} {live:>11}"), |heap| {
            let moment = heap.footprint.moments.get(at);
            moment.map_or_else(|| "-".to_owned(), |moment| short_bytes(moment.footprint_bytes))
        })?;
    }
    Ok(())
}

type Figure = (&'static str, fn(&Timed) -> u64);
const FIGURES: [Figure; 6] = [
    ("p50", |t| t.p50_ns),
    ("p90", |t| t.p90_ns),
    ("p99", |t| t.p99_ns),
    ("p99.9", |t| t.p999_ns),
    ("p99.99", |t| t.p9999_ns),
    ("max", |t| t.max_ns),
];

fn latency(out: Out<'_>, c: &Comparison) -> io::Result<()> {
    let Some(some) = c.heaps.iter().find(|heap| !heap.latency.kinds.is_empty()) else { return Ok(()) };
    let rounds = counted(c.rounds.into(), "round");
    heading(out, &format!("Latency of calls (median of {rounds})"))?;
    names(out, c, "")?;
    for (kind, timed) in &some.latency.kinds {
        for (figure, of) in FIGURES {
            let label = if figure == "p50" {
                format!("{kind:<9} {:>14}", format!("{} x p50", count(timed.calls)))
            } else {
                format!("{figure:>LABEL$}")
            };
            row(out, c, &label, |heap| {
                let its = heap.latency.kinds.iter().find(|(name, _)| name == kind);
                its.map_or_else(|| "-".to_owned(), |(_, timed)| duration(of(timed)))
            })?;
        }
    }
    let (clock, own) = (&some.latency.clock, duration(some.latency.clock_ns));
    writeln!(out, "  Timed with {clock}; its own cost, {own}, is subtracted.")?;
    let left_out: u64 = c.heaps.iter().map(|heap| heap.latency.left_out).sum();
    if left_out > 0 {
        let calls = counted(left_out, "call");
        writeln!(out, "  Left out: {calls} that the kernel interrupted.")?;
    }
    Ok(())
}
