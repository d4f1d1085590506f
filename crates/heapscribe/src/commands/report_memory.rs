//! `heapscribe report --memory`: of what the resident memory of a process is made.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use heapscribe_analyze::answer::Process;
use heapscribe_analyze::memory::Memory;
use heapscribe_analyze::snapshot::Snapshot;
use heapscribe_convert::Opened;
use heapscribe_diagnostics::Problem;
use heapscribe_symbols::{NamedStacks, Resolver};
use heapscribe_views::coverage;
use heapscribe_views::json::live::LiveReport;
use heapscribe_views::json::memory::{MemoryJson, wanted};
use heapscribe_views::json::resident::ResidentJson;
use heapscribe_views::live::Largest;
use heapscribe_views::text::memory::MemoryReport;
use heapscribe_views::text::resident;
use serde::Serialize;

use super::limits::{TOP, TOP_JSON};
use super::partial;
use crate::cli::ReportArgs;

/// The report of a snapshot, with its memory.
#[derive(Serialize)]
struct WithMemory {
    #[serde(flatten)]
    report: LiveReport,
    memory: MemoryJson,
}

/// The memory of processes over time.
#[derive(Serialize)]
struct WithTimes {
    processes: Vec<OverTime>,
}

/// That of one.
#[derive(Serialize)]
struct OverTime {
    pid: u32,
    memory_over_time: Vec<ResidentJson>,
}

/// Prints it.
pub(super) fn run(
    args: &ReportArgs,
    trace: &Opened,
    resolver: &Resolver,
    out: &mut dyn Write,
) -> Result<ExitCode> {
    if !has_pages(trace) && over_time(args, trace, out)? {
        return Ok(partial::exit_code(&args.trace, &[], trace.is_complete()));
    }
    let mut problems = Vec::new();
    for (snapshot, memory) in of_trace(trace, &args.trace.display().to_string())? {
        let share = if memory.is_cut { 1.0 } else { memory.coverage };
        let heaps = coverage::of_snapshot(&snapshot.tree, share, resolver);
        if args.json {
            let top = args.top.unwrap_or(TOP_JSON);
            let largest = Largest::of(&snapshot, top);
            let nodes = largest.nodes().chain(wanted(&memory, top));
            let names = NamedStacks::look_up(&snapshot.tree, nodes, resolver);
            let memory = MemoryJson::new(&memory, &heaps, top, snapshot.table.mono_ns, &names);
            let report = LiveReport::new(&snapshot, &largest, &names);
            serde_json::to_writer(&mut *out, &WithMemory { report, memory })?;
            writeln!(out)?;
        } else {
            let path = args.trace.to_string_lossy();
            let (top, width) = (args.top.unwrap_or(TOP), super::output::columns());
            let (snapshot, memory, heaps) = (&snapshot, &memory, &heaps[..]);
            let report = MemoryReport { snapshot, memory, heaps, top, path: &path, width };
            report.print(out, &NamedStacks::look_up(&snapshot.tree, report.wanted(), resolver))?;
        }
        problems.extend(snapshot.problems.iter().chain(&memory.problems).cloned());
    }
    out.flush()?;
    Ok(partial::exit_code(&args.trace, &problems, trace.is_complete()))
}

/// Whether there are pages beside a table of live blocks.
fn has_pages(trace: &Opened) -> bool {
    trace.processes().iter().any(|process| !process.memory_maps.is_empty())
}

/// Prints of what memory was made over time; false when nobody has looked.
fn over_time(args: &ReportArgs, trace: &Opened, out: &mut dyn Write) -> Result<bool> {
    let answer = trace.analyze_of(&args.choice.choice())?;
    if !resident::is_any(&answer) {
        return Ok(false);
    }
    if args.json {
        let processes = answer.processes.iter().filter(|process| !process.resident.is_empty());
        let memory_over_time = |process: &Process| OverTime {
            pid: process.pid,
            memory_over_time: ResidentJson::all(&process.resident, answer.begin_mono_ns),
        };
        serde_json::to_writer(
            &mut *out,
            &WithTimes { processes: processes.map(memory_over_time).collect() },
        )?;
        writeln!(out)?;
    } else {
        resident::report(out, &answer)?;
    }
    out.flush()?;
    Ok(true)
}

/// The snapshots of a trace that have pages beside them, of which there must be one.
pub(super) fn of_trace(trace: &Opened, shown: &str) -> Result<Vec<(Snapshot, Memory)>> {
    let mut found = Vec::new();
    for snapshot in trace.snapshots() {
        let memory = trace.memory(&snapshot).with_context(|| shown.to_owned())?;
        found.extend(memory.map(|memory| (snapshot, memory)));
    }
    if found.is_empty() && !trace.is_complete() {
        let what = format!("{shown} lacks its end, and with it the pages of its process, if it had any");
        return Err(
            Problem::new(what, "take the snapshot anew: heapscribe snapshot PID --pages -o FILE").into()
        );
    }
    if found.is_empty() {
        let what = format!("{shown} does not say which pages of its process are in memory");
        let hint = "take a snapshot that does: heapscribe snapshot PID --pages -o FILE, or record with --memory-map every=1s";
        return Err(Problem::new(what, hint).into());
    }
    Ok(found)
}
