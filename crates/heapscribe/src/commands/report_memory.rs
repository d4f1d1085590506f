//! `heapscribe report --memory`: of what the resident memory of a process is made.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use heapscribe_analyze::memory::{self, Memory};
use heapscribe_analyze::snapshot::{self, Snapshot};
use heapscribe_convert::Opened;
use heapscribe_diagnostics::Problem;
use heapscribe_symbols::{NamedStacks, Resolver};
use heapscribe_views::coverage;
use heapscribe_views::json::live::{self, LiveReport};
use heapscribe_views::json::memory::{MemoryJson, wanted};
use heapscribe_views::text::memory::MemoryReport;
use serde::Serialize;

use super::limits::{TOP, TOP_JSON};
use super::{partial, terminal};
use crate::cli::ReportArgs;

/// The report of a snapshot, with its memory.
#[derive(Serialize)]
struct WithMemory {
    #[serde(flatten)]
    report: LiveReport,
    memory: MemoryJson,
}

/// Prints it.
pub(super) fn run(
    args: &ReportArgs,
    trace: &Opened,
    resolver: &Resolver,
    out: &mut dyn Write,
) -> Result<ExitCode> {
    let mut problems = Vec::new();
    for (snapshot, memory) in of_trace(trace, &args.trace.display().to_string())? {
        let heaps = coverage::of_snapshot(&snapshot.tree, memory.coverage, resolver);
        if args.json {
            let top = args.top.unwrap_or(TOP_JSON);
            let stacks = live::chosen(&snapshot, top);
            let nodes = stacks.iter().map(|stack| stack.node).chain(wanted(&memory, top));
            let names = NamedStacks::look_up(&snapshot.tree, nodes, resolver);
            let memory = MemoryJson::new(&memory, &heaps, top, snapshot.table.mono_ns, &names);
            let report = LiveReport::new(&snapshot, &stacks, &names);
            serde_json::to_writer(&mut *out, &WithMemory { report, memory })?;
            writeln!(out)?;
        } else {
            let path = args.trace.to_string_lossy();
            let (top, width) = (args.top.unwrap_or(TOP), terminal::columns());
            let (snapshot, memory, heaps) = (&snapshot, &memory, &heaps[..]);
            let report = MemoryReport { snapshot, memory, heaps, top, path: &path, width };
            report.print(out, &NamedStacks::look_up(&snapshot.tree, report.wanted(), resolver))?;
        }
        problems.extend(snapshot.problems.iter().chain(&memory.problems).cloned());
    }
    out.flush()?;
    Ok(partial::exit_code(&args.trace, &problems, trace.is_complete()))
}

/// The snapshots of a trace that have pages beside them, of which there must be one.
pub(super) fn of_trace(trace: &Opened, shown: &str) -> Result<Vec<(Snapshot, Memory)>> {
    let mut found = Vec::new();
    for snapshot in snapshot::analyze(&**trace) {
        let memory = memory::analyze(&**trace, &snapshot).with_context(|| shown.to_owned())?;
        found.extend(memory.map(|memory| (snapshot, memory)));
    }
    if found.is_empty() {
        let what = format!("{shown} does not say which pages of its process are in memory");
        let hint = "take a snapshot that does: heapscribe snapshot PID --pages -o FILE";
        return Err(Problem::new(what, hint).into());
    }
    Ok(found)
}
