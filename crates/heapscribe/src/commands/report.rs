//! `heapscribe report`: explains a trace, in sentences or as JSON.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_analyze::answer::Answer;
use heapscribe_analyze::snapshot::{self, Snapshot};
use serde::Serialize;

use super::partial;
use crate::cli::ReportArgs;
use crate::convert::tally::Tally;
use crate::frames::NamedStacks;
use crate::json;
use crate::symbols::Resolver;
use crate::text::heading;
use crate::text::live::{self, LiveReport};
use crate::text::report::Report;
use crate::trace_file;

/// Entries of each list in the text.
const TOP: usize = 10;
/// Stacks in JSON: all 100,000 of a compiler's are half a gigabyte.
const TOP_JSON: usize = 1000;

/// A report, with what only a memtrace file has.
#[derive(Serialize)]
struct WithTally<'a, R> {
    #[serde(flatten)]
    report: R,
    #[serde(skip_serializing_if = "Option::is_none")]
    memtrace: Option<&'a Tally>,
}

/// Runs the command.
pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode> {
    let trace = trace_file::open(&args.trace)?;
    let resolver = Resolver { debug_dir: args.symbols.debug_dir.clone() };
    let mut out = BufWriter::new(anstream::stdout().lock());
    if snapshot::is_one(&*trace) {
        let problems = report_live(args, &snapshot::analyze(&*trace), &resolver, &mut out)?;
        return Ok(partial::exit_code(&args.trace, &problems, trace.is_complete()));
    }
    let answer = trace_file::analyze(&trace);
    if args.json {
        print_json(&mut out, (&answer, trace.memtrace.as_ref()), args.top.unwrap_or(TOP_JSON), &resolver)?;
    } else {
        let shown = args.trace.to_string_lossy();
        let report = Report { answer: &answer, top: args.top.unwrap_or(TOP), trace: &shown };
        let names = NamedStacks::look_up(&answer.tree, report.wanted(), &resolver);
        report.print(&mut out, &names)?;
        tables_beside(&mut out, &snapshot::analyze(&*trace))?;
        if let Some(tally) = &trace.memtrace {
            tally.print(&mut out)?;
        }
    }
    out.flush()?;
    Ok(partial::exit_code(&args.trace, &answer.problems, trace.is_complete()))
}

/// Explains snapshots; what is wrong with them.
fn report_live(
    args: &ReportArgs,
    snapshots: &[Snapshot],
    resolver: &Resolver,
    out: &mut dyn Write,
) -> Result<Vec<String>> {
    for snapshot in snapshots {
        if args.json {
            let stacks = json::live::chosen(snapshot, args.top.unwrap_or(TOP_JSON));
            let names = NamedStacks::look_up(&snapshot.tree, stacks.iter().map(|s| s.node), resolver);
            serde_json::to_writer(&mut *out, &json::live::LiveReport::new(snapshot, &stacks, &names))?;
            writeln!(out)?;
        } else {
            let path = args.trace.to_string_lossy();
            let report = LiveReport { snapshot, top: args.top.unwrap_or(TOP), path: &path };
            report.print(out, &NamedStacks::look_up(&snapshot.tree, report.wanted(), resolver))?;
        }
    }
    out.flush()?;
    Ok(snapshots.iter().flat_map(|snapshot| &snapshot.problems).cloned().collect())
}

/// Tables that a recording of events has besides.
fn tables_beside(out: &mut dyn Write, snapshots: &[Snapshot]) -> Result<()> {
    if !snapshots.is_empty() {
        heading(out, "Tables of live blocks")?;
        snapshots.iter().try_for_each(|snapshot| live::beside(out, snapshot))?;
    }
    Ok(())
}

fn print_json(
    out: &mut dyn Write,
    (answer, memtrace): (&Answer, Option<&Tally>),
    top: usize,
    resolver: &Resolver,
) -> Result<()> {
    let stacks = json::report::chosen(answer, Some(top));
    let names = NamedStacks::look_up(&answer.tree, stacks.iter().map(|s| s.node), resolver);
    let report = json::report::Report::new(answer, &stacks, &names);
    serde_json::to_writer(&mut *out, &WithTally { report, memtrace })?;
    writeln!(out)?;
    Ok(())
}
