//! `heapscribe report`: explains a trace, in sentences or as JSON.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_analyze::answer::Answer;
use serde::Serialize;

use super::partial;
use crate::cli::ReportArgs;
use crate::convert::tally::Tally;
use crate::frames::NamedStacks;
use crate::json;
use crate::symbols::Resolver;
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
    let answer = trace_file::analyze(&trace);
    let resolver = Resolver { debug_dir: args.symbols.debug_dir.clone() };
    let mut out = BufWriter::new(anstream::stdout().lock());
    if args.json {
        print_json(&mut out, (&answer, trace.memtrace.as_ref()), args.top.unwrap_or(TOP_JSON), &resolver)?;
    } else {
        let shown = args.trace.to_string_lossy();
        let report = Report { answer: &answer, top: args.top.unwrap_or(TOP), trace: &shown };
        let names = NamedStacks::look_up(&answer, report.wanted(), &resolver);
        report.print(&mut out, &names)?;
        if let Some(tally) = &trace.memtrace {
            tally.print(&mut out)?;
        }
    }
    out.flush()?;
    Ok(partial::exit_code(&args.trace, &answer.problems, trace.is_complete()))
}

fn print_json(
    out: &mut dyn Write,
    (answer, memtrace): (&Answer, Option<&Tally>),
    top: usize,
    resolver: &Resolver,
) -> Result<()> {
    let stacks = json::report::chosen(answer, Some(top));
    let nodes = stacks.iter().map(|s| s.node).chain(json::said::wanted(answer));
    let names = NamedStacks::look_up(answer, nodes, resolver);
    let report = json::report::Report::new(answer, &stacks, &names);
    serde_json::to_writer(&mut *out, &WithTally { report, memtrace })?;
    writeln!(out)?;
    Ok(())
}
