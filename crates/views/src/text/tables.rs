//! The tables of a report: sizes, lifetimes, threads, processes.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use heapscribe_analyze::answer::{Answer, Ended, Process, Thread};

use super::out::{Out, heading};
use heapscribe_symbols::lossy;
use heapscribe_units::{bytes, count, counted, duration, percent_cell, short_bytes, time};

/// Width of the longest bar.
const BAR: u64 = 20;

/// A heading that says so when what follows is estimated, or partly, where every block was recorded for part of
/// the time.
pub fn estimated(answer: &Answer, title: &str) -> String {
    match &answer.sampling {
        Some(sampling) if sampling.has_estimates() => {
            let partly = if sampling.exact_blocks > 0 { "partly " } else { "" };
            format!("{title} ({partly}estimated)")
        }
        _ => title.to_owned(),
    }
}

/// Allocations by size.
pub fn sizes(out: Out<'_>, answer: &Answer) -> io::Result<()> {
    let used: Vec<_> = answer.sizes.iter().filter(|class| class.count > 0).collect();
    let Some(most) = used.iter().map(|class| class.count).max() else { return Ok(()) };
    heading(out, &estimated(answer, "Sizes of the blocks"))?;
    for class in used {
        let range = format!("{} to {}", count(class.from_bytes), count(class.to_bytes));
        let bar = "#".repeat((u128::from(class.count) * u128::from(BAR)).div_ceil(u128::from(most)) as usize);
        let share = percent_cell(class.count, answer.totals.allocations);
        writeln!(out, "  {range:>23} bytes {:>14} {share:>8} {bar}", count(class.count))?;
    }
    Ok(())
}

/// A table of ranges, each with its blocks and bytes; shares are of all bytes.
pub fn classes(
    out: Out<'_>,
    title: &str,
    rows: impl Iterator<Item = (String, u64, u64)> + Clone,
    all_bytes: u64,
) -> io::Result<()> {
    let Some(most) = rows.clone().map(|(_, _, bytes)| bytes).max() else { return Ok(()) };
    heading(out, title)?;
    for (range, blocks, bytes) in rows {
        let bar =
            "#".repeat((u128::from(bytes) * u128::from(BAR)).div_ceil(u128::from(most.max(1))) as usize);
        let (share, blocks, bytes) = (percent_cell(bytes, all_bytes), count(blocks), short_bytes(bytes));
        writeln!(out, "  {range:>29} {blocks:>12} {bytes:>9} {share:>8} {bar}")?;
    }
    Ok(())
}

/// Freed blocks by how long they lived.
pub fn lifetimes(out: Out<'_>, answer: &Answer) -> io::Result<()> {
    let used: Vec<_> = answer.lifetimes.iter().filter(|class| class.count > 0).collect();
    let Some(most) = used.iter().map(|class| class.count).max() else { return Ok(()) };
    let off = answer.early_times.map(|early| format!(", up to {} off", duration(early.ns)));
    let title = format!("Lifetimes of freed blocks{}", off.unwrap_or_default());
    heading(out, &estimated(answer, &title))?;
    for class in used {
        let range = {
            let [from, to] = [class.from_ns, class.to_ns].map(|ns| time(ns, answer.counts_calls));
            format!("{from} to {to}")
        };
        let bar = "#".repeat((u128::from(class.count) * u128::from(BAR)).div_ceil(u128::from(most)) as usize);
        let share = percent_cell(class.count, answer.totals.frees);
        writeln!(out, "  {range:>29} {:>14} {share:>8} {bar}", count(class.count))?;
    }
    Ok(())
}

/// What each thread did, the busiest first.
pub fn threads(out: Out<'_>, answer: &Answer, top: usize) -> io::Result<()> {
    let mut threads: Vec<&Thread> = answer.threads.iter().filter(|t| t.totals.calls.all() > 0).collect();
    if threads.is_empty() {
        return Ok(());
    }
    heading(out, &estimated(answer, "Threads"))?;
    threads.sort_by_key(|t| std::cmp::Reverse(t.totals.calls.all()));
    for thread in threads.iter().take(top) {
        let pid = answer.processes.get(thread.process).map_or(0, |p| p.pid);
        let name = lossy(&thread.name);
        let who = if name.is_empty() { "unnamed".to_owned() } else { name };
        writeln!(
            out,
            "  {who} (thread {} of process {pid}): {}, {} of {}, {} temporary",
            thread.tid,
            counted(thread.totals.calls.all(), "call"),
            counted(thread.totals.allocations, "allocation"),
            bytes(thread.totals.allocated_bytes),
            count(thread.temporary.blocks),
        )?;
    }
    more(out, threads.len(), top, "thread")
}

/// What each process did, when there is more than one.
pub fn processes(out: Out<'_>, answer: &Answer, top: usize) -> io::Result<()> {
    if answer.processes.len() < 2 {
        return Ok(());
    }
    heading(out, &estimated(answer, &format!("Processes: {}", count(answer.processes.len() as u64))))?;
    let mut processes: Vec<&Process> = answer.processes.iter().collect();
    processes.sort_by_key(|p| (Reverse(p.peak.bytes), Reverse(p.totals.allocations)));
    for process in processes.iter().take(top) {
        writeln!(out, "  {}", process_line(process))?;
        writeln!(
            out,
            "      {}, {} of {}; peak {}; {}: {}; {}",
            counted(process.totals.calls.all(), "call"),
            counted(process.totals.allocations, "allocation"),
            short_bytes(process.totals.allocated_bytes),
            bytes(process.peak.bytes),
            if process.ended.is_end() { "never freed" } else { "not freed yet" },
            bytes(process.leaked.bytes),
            ended(process.ended),
        )?;
    }
    programs(out, &processes, top)
}

/// The processes that are not in the list, by program: 837 images may be of a handful of programs.
fn programs(out: Out<'_>, processes: &[&Process], top: usize) -> io::Result<()> {
    let mut programs: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
    for process in processes.iter().skip(top) {
        let (images, allocations, peak) = programs.entry(program(process)).or_default();
        *images += 1;
        *allocations += process.totals.allocations;
        *peak = process.peak.bytes.max(*peak);
    }
    let mut programs: Vec<_> = programs.into_iter().collect();
    programs.sort_by_key(|(_, (_, allocations, peak))| (Reverse(*peak), Reverse(*allocations)));
    more(out, processes.len(), top, "process")?;
    for (name, (images, allocations, peak)) in programs.iter().take(top) {
        let times = if *images == 1 { String::new() } else { format!(" x {}", count(*images)) };
        let (allocations, peak) = (counted(*allocations, "allocation"), short_bytes(*peak));
        writeln!(out, "      {name}{times}: {allocations}, largest peak {peak}")?;
    }
    more(out, programs.len(), top, "program")
}

/// The file name of a process's program.
pub fn program(process: &Process) -> String {
    let exe = lossy(&process.exe);
    let name = exe.rsplit('/').next().filter(|name| !name.is_empty());
    name.unwrap_or("an unknown program").to_owned()
}

fn process_line(process: &Process) -> String {
    let how = if process.is_fork { "forked from" } else { "child of" };
    let name = match process.command.is_empty() {
        true => lossy(&process.exe),
        false => process.command.iter().map(|part| lossy(part)).collect::<Vec<_>>().join(" "),
    };
    format!("{} ({how} {}): {name}", process.pid, process.parent_pid)
}

fn ended(how: Ended) -> String {
    let words = match how {
        Ended::Unknown => "its end is unknown",
        Ended::Exited => "exited",
        Ended::Killed(signal) => return format!("killed by signal {signal}"),
        Ended::Unseen => "ended, by a signal or in another way",
        Ended::Execed => "executed another program",
        Ended::Abandoned => "was still running when the recording ended",
    };
    words.to_owned()
}

/// How many more there are than are shown.
pub fn more(out: Out<'_>, all: usize, shown: usize, what: &str) -> io::Result<()> {
    match all.saturating_sub(shown) {
        0 => Ok(()),
        rest => writeln!(out, "  ... {rest} more {what}{}", if what.ends_with('s') { "es" } else { "s" }),
    }
}
