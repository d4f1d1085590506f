//! Statistics of heaps as text.

use std::io;

use heapscribe_analyze::answer::{Answer, Process};
use heapscribe_wire::heap::{HeapCounts, Update};

use heapscribe_units as units;

use super::out::{Out, heading};
use heapscribe_session::heap_statistics::{EndedHeaps, HeapStatistics};
use heapscribe_symbols::lossy;

/// The last statistics of the heaps of all processes of a run, the largest first.
pub fn ended(ended: &EndedHeaps) -> String {
    const SHOWN: usize = 16;
    if ended.count() == 0 {
        return "heap: no process reported statistics".to_owned();
    }
    let mut lines: Vec<String> = ended.largest.iter().take(SHOWN).flat_map(process).collect();
    let more = ended.largest.len().saturating_sub(SHOWN) as u64 + ended.others;
    if more > 0 {
        let rest = ended.largest.iter().skip(SHOWN).map(|statistics| statistics.update.counts);
        let failures = rest.clone().map(|c| c.failures).fold(ended.others_failures, u64::saturating_add);
        let misuses = rest.map(|c| c.misuses).fold(ended.others_misuses, u64::saturating_add);
        let (failures, misuses) = (units::count(failures), units::count(misuses));
        let processes = units::counted(more, "smaller process image");
        lines.push(format!("heap: {processes}, {failures} failed requests, {misuses} frees of free blocks"));
    }
    lines.join("\n")
}

/// The heaps under the processes of a trace, those with the most in use first.
pub fn section(out: Out<'_>, answer: &Answer) -> io::Result<()> {
    const SHOWN: usize = 8;
    let of = |p: &Process| p.heap.clone().map(|heap| (p.pid, lossy(&p.exe), heap));
    let mut heaps: Vec<_> = answer.processes.iter().filter_map(of).collect();
    if heaps.is_empty() {
        return Ok(());
    }
    heaps.sort_by_key(|(.., heap)| std::cmp::Reverse(heap.last.peak_bytes));
    heading(out, "Custom heap")?;
    for (pid, exe, heap) in heaps.iter().take(SHOWN) {
        writeln!(out, "  {} of {exe} (process {pid}): {}", heap.info.name, heap.info.configuration)?;
        writeln!(out, "    at last {}", size(&heap.last))?;
        if let Some(rest) = rest(&heap.last) {
            writeln!(out, "    {rest}")?;
        }
        let most = units::percent(u64::from(heap.fragmentation_peak_per_mille), 1000);
        writeln!(out, "    peak fragmentation {most}, in {}", units::counted(heap.samples, "sample"))?;
    }
    match heaps.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "  and {} more", units::counted(more as u64, "process image")),
    }
}

/// What the program's own heap is called where it was asked for.
const SYSTEM: &str = "system";

/// The lines of a process.
fn process(statistics: &HeapStatistics) -> Vec<String> {
    let HeapStatistics { name, pid, exe, update, .. } = statistics;
    let exe = exe.rsplit('/').next().unwrap_or(exe);
    if statistics.is_passing && name != SYSTEM {
        let passing = "not used; the program uses its own heap";
        return vec![format!("heap {name} of {exe} (process {pid}): {passing}")];
    }
    if statistics.is_passing || update.counts == HeapCounts::default() {
        return vec![format!("heap {name} of {exe} (process {pid}): no statistics")];
    }
    let mut lines =
        vec![format!("heap {name} of {exe} (process {pid}){}: {}", when(update), size(&update.counts))];
    lines.extend(rest(&update.counts).map(|rest| format!("  {rest}")));
    if !statistics.configuration.is_empty() {
        lines.push(format!("  {}", statistics.configuration));
    }
    lines
}

/// Whether these are the last numbers.
fn when(update: &Update) -> &'static str {
    if update.is_last { ", at its end" } else { ", at its last report (the process did not exit normally)" }
}

/// Pool and use.
pub fn size(c: &HeapCounts) -> String {
    let bytes = units::short_bytes;
    if c.pool_bytes == 0 {
        return format!("{} used in {}", bytes(c.used_bytes), units::counted(c.blocks, "block"));
    }
    let used = format!(
        "{} used of {} ({}) in {}",
        bytes(c.used_bytes),
        bytes(c.pool_bytes),
        units::percent(c.used_bytes, c.pool_bytes),
        units::counted(c.blocks, "block"),
    );
    if c.peak_bytes < c.used_bytes {
        // Another project's heap, which does not count it.
        return used;
    }
    format!("{used}, peak {} ({})", bytes(c.peak_bytes), units::percent(c.peak_bytes, c.pool_bytes))
}

/// What is free, and what failed; without the counts that a heap does not have.
pub fn rest(c: &HeapCounts) -> Option<String> {
    let bytes = units::short_bytes;
    let free = bytes(c.free_bytes);
    let free = match (c.free_blocks, c.largest_free_bytes) {
        // A heap that does not count its free pieces.
        (0, 0) => format!("{free} free"),
        (pieces, largest) => {
            let pieces = units::counted(pieces, "block");
            format!("{free} free in {pieces}, largest {}, fragmentation {}", bytes(largest), fragmentation(c))
        }
    };
    (c.pool_bytes > 0).then(|| {
        format!(
            "{free}; {}, {} added; {} failed, {} freed twice; {} locked",
            units::counted(c.pools, "pool"),
            units::count(c.growths),
            units::counted(c.failures, "request"),
            units::counted(c.misuses, "block"),
            bytes(c.locked_bytes),
        )
    })
}

/// What of the free memory one request could not get.
pub fn fragmentation(c: &HeapCounts) -> String {
    units::percent(u64::from(c.fragmentation_per_mille()), 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of `examples/c-heap` has bytes and blocks in use, and nothing else.
    #[test]
    fn counts_that_a_heap_does_not_have_are_left_out() {
        let counts = HeapCounts { pool_bytes: 8192, used_bytes: 4096, blocks: 3, ..HeapCounts::default() };
        let counts = HeapCounts { free_bytes: 4096, pools: 1, ..counts };
        assert_eq!(size(&counts), "4.00 KiB used of 8.00 KiB (50.0 %) in 3 blocks");
        let expected = "4.00 KiB free; 1 pool, 0 added; 0 requests failed, 0 blocks freed twice; 0 B locked";
        assert_eq!(rest(&counts).as_deref(), Some(expected));
        let whole = HeapCounts { peak_bytes: 6144, free_blocks: 1, largest_free_bytes: 4096, ..counts };
        assert!(size(&whole).ends_with("in 3 blocks, peak 6.00 KiB (75.0 %)"), "{}", size(&whole));
        let rest = rest(&whole).unwrap();
        assert!(
            rest.starts_with("4.00 KiB free in 1 block, largest 4.00 KiB, fragmentation 0.0 %;"),
            "{rest}"
        );
    }

    #[test]
    fn a_heap_that_does_not_serve_or_has_no_statistics_has_a_line() {
        let check = |name: &str, is_passing: bool, expected: &str| {
            let statistics = HeapStatistics {
                name: name.to_owned(),
                is_passing,
                pid: 7,
                exe: "/bin/ls".to_owned(),
                ..HeapStatistics::default()
            };
            assert_eq!(process(&statistics), [format!("heap {name} of ls (process 7): {expected}")]);
        };
        check("system", true, "no statistics");
        check("table", false, "no statistics");
        check("tlsf", true, "not used; the program uses its own heap");
    }
}
