//! How a heap did, in words.

use std::io;

use heapscribe_analyze::answer::{Answer, Process};
use heapscribe_wire::heap::{HeapCounts, Update};

use super::{Out, heading, number};
use crate::frames::lossy;
use crate::heaps::{Ended, Told};

/// What the heaps of all processes of a run said last, the largest first.
pub(crate) fn ended(ended: &Ended) -> String {
    const SHOWN: usize = 16;
    if ended.count() == 0 {
        return "heap: no process has told how its heap did".to_owned();
    }
    let mut lines: Vec<String> = ended.largest.iter().take(SHOWN).flat_map(process).collect();
    let more = ended.largest.len().saturating_sub(SHOWN) as u64 + ended.others;
    if more > 0 {
        let rest = ended.largest.iter().skip(SHOWN).map(|told| told.update.counts);
        let failures = rest.clone().map(|c| c.failures).fold(ended.others_failures, u64::saturating_add);
        let misuses = rest.map(|c| c.misuses).fold(ended.others_misuses, u64::saturating_add);
        let (failures, misuses) = (number::count(failures), number::count(misuses));
        let processes = number::counted(more, "smaller process image");
        lines.push(format!("heap: {processes}, {failures} failed requests, {misuses} frees of free blocks"));
    }
    lines.join("\n")
}

/// The heaps under the processes of a trace, those with the most in use first.
pub(crate) fn section(out: Out<'_>, answer: &Answer) -> io::Result<()> {
    const SHOWN: usize = 8;
    let of = |p: &Process| p.heap.clone().map(|heap| (p.pid, lossy(&p.exe), heap));
    let mut heaps: Vec<_> = answer.processes.iter().filter_map(of).collect();
    if heaps.is_empty() {
        return Ok(());
    }
    heaps.sort_by_key(|(.., heap)| std::cmp::Reverse(heap.last.peak_bytes));
    heading(out, "The heap under the program")?;
    for (pid, exe, heap) in heaps.iter().take(SHOWN) {
        writeln!(out, "  {} of {exe} (process {pid}): {}", heap.info.name, heap.info.configuration)?;
        writeln!(out, "    at last {}", size(&heap.last))?;
        if let Some(rest) = rest(&heap.last) {
            writeln!(out, "    {rest}")?;
        }
        let most = number::percent(u64::from(heap.fragmentation_peak_per_mille), 1000);
        writeln!(out, "    fragmentation at most {most}, of {}", number::counted(heap.samples, "sample"))?;
    }
    match heaps.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "  and {} more", number::counted(more as u64, "process image")),
    }
}

/// The lines of a process.
fn process(told: &Told) -> Vec<String> {
    let Told { name, pid, exe, update, .. } = told;
    let exe = exe.rsplit('/').next().unwrap_or(exe);
    if told.is_passing {
        return vec![format!("heap {name} of {exe} (process {pid}): it tells nothing of itself")];
    }
    let mut lines =
        vec![format!("heap {name} of {exe} (process {pid}){}: {}", when(update), size(&update.counts))];
    lines.extend(rest(&update.counts).map(|rest| format!("  {rest}")));
    if !told.configuration.is_empty() {
        lines.push(format!("  {}", told.configuration));
    }
    lines
}

/// Whether these are the last numbers.
fn when(update: &Update) -> &'static str {
    if update.is_last { ", at its end" } else { ", when it last told (it did not end by exit)" }
}

/// Pool and use.
pub(crate) fn size(c: &HeapCounts) -> String {
    let bytes = number::short_bytes;
    if c.pool_bytes == 0 {
        return format!("{} used in {}", bytes(c.used_bytes), number::counted(c.blocks, "block"));
    }
    format!(
        "{} used of {} ({}) in {}, at most {} ({})",
        bytes(c.used_bytes),
        bytes(c.pool_bytes),
        number::percent(c.used_bytes, c.pool_bytes),
        number::counted(c.blocks, "block"),
        bytes(c.peak_bytes),
        number::percent(c.peak_bytes, c.pool_bytes),
    )
}

/// What is free, and what went wrong; nothing of a heap that does not say.
pub(crate) fn rest(c: &HeapCounts) -> Option<String> {
    let bytes = number::short_bytes;
    (c.pool_bytes > 0).then(|| {
        format!(
            "{} free in {}, the largest {}, fragmentation {}; {}, {} grown; {} failed, {} freed twice; {} locked",
            bytes(c.free_bytes),
            number::counted(c.free_blocks, "piece"),
            bytes(c.largest_free_bytes),
            fragmentation(c),
            number::counted(c.pools, "pool"),
            number::count(c.growths),
            number::counted(c.failures, "request"),
            number::counted(c.misuses, "block"),
            bytes(c.locked_bytes),
        )
    })
}

/// What of the free memory one request could not get.
pub(crate) fn fragmentation(c: &HeapCounts) -> String {
    number::percent(u64::from(c.fragmentation_per_mille()), 1000)
}
