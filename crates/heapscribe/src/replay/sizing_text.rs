//! The result of `pool-size` as text.

use std::io;

use heapscribe_replay::Tightest;

use super::sizing::PoolSize;
use heapscribe_units::{bytes, counted, duration, percent, short_bytes};
use heapscribe_views::text::{Out, heading};

/// Prints it.
pub(crate) fn print(out: Out<'_>, found: &PoolSize) -> io::Result<()> {
    let f = found;
    writeln!(out, "{}", f.process.name())?;
    if let Some(others) = f.process.about_others() {
        writeln!(out, "  {others}")?;
        writeln!(
            out,
            "  Each process gets its own pool of this size; `run --only NAME` limits it to one program."
        )?;
    }
    for why in &f.process.estimate {
        writeln!(out, "  Estimate only: {why}.")?;
    }
    heading(out, "What the heap held")?;
    let blocks = counted(f.peak_live_blocks, "block");
    let at_least = |n: u64| f.process.at_least(&bytes(n));
    line(out, "peak live", &format!("{} in {blocks}", at_least(f.peak_live_bytes)))?;
    let overhead = percent(f.peak_used_bytes.saturating_sub(f.peak_live_bytes), f.peak_live_bytes);
    line(
        out,
        "peak used in pool",
        &format!("{}: {overhead} more, for headers and rounding", at_least(f.peak_used_bytes)),
    )?;
    heading(out, "What it needs")?;
    let requests = counted(f.requests, "request");
    let recorded = if f.process.estimate.is_empty() { "" } else { " that were recorded" };
    line(out, "smallest pool", &format!("{} serves all {requests}{recorded}", bytes(f.smallest_bytes)))?;
    line(out, "", &format!("{} does not", bytes(f.fails_bytes)))?;
    let Tightest { used_bytes, free_bytes, largest_free_bytes } = f.tightest;
    let [used, free, largest] = [used_bytes, free_bytes, largest_free_bytes].map(short_bytes);
    line(out, "at its fullest", &format!("{used} in blocks, {free} free, largest free block {largest}"))?;
    let trials = counted(f.trials, "variation");
    line(
        out,
        "largest size needed",
        &format!("{}, by the recording and {trials}:", at_least(f.needed_bytes)),
    )?;
    line(out, "", &others(f))?;
    line(out, "margin", &format!("{} %", f.margin_percent))?;
    heading(out, &format!("Recommended: {}", at_least(f.recommended_bytes)))?;
    match &f.not_verified {
        None => writeln!(out, "  Verified: the pool heap serves the recording in one pool of this size.")?,
        Some(why) => writeln!(out, "  Not verified: {why}.")?,
    }
    writeln!(out, "\n  heapscribe run --heap tlsf --pool {} -- CMD", unit(f.recommended_bytes))?;
    writeln!(out, "  INITIAL_MEMPOOL_SIZE={}", f.recommended_bytes)
}

fn line(out: Out<'_>, label: &str, text: &str) -> io::Result<()> {
    writeln!(out, "  {label:<22} {text}")
}

/// How the variations differ.
fn others(f: &PoolSize) -> String {
    let order = match f.threads {
        1 => String::new(),
        _ => format!("threads late by up to {}, ", duration(f.window_ns)),
    };
    format!("{order}sizes up to 5 % different, other pool addresses")
}

/// In the largest unit that makes a whole number of it.
fn unit(bytes: u64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let found = units.into_iter().find(|(_, log2)| bytes.trailing_zeros() >= *log2);
    found.map_or_else(|| bytes.to_string(), |(unit, log2)| format!("{}{unit}", bytes >> log2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_numbers_of_a_unit() {
        let check = |bytes: u64, expected: &str| assert_eq!(unit(bytes), expected);
        check(64 << 10, "64KiB");
        check(100 << 20, "100MiB");
        check(3 << 30, "3GiB");
        check(1000, "1000");
        check(1536 << 10, "1536KiB");
    }
}
