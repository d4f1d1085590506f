//! `heapscribe report` of a range: what was allocated, freed and live in it.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_analyze::input::History as _;
use heapscribe_convert::Opened;
use heapscribe_symbols::{NamedStacks, Resolver, lossy};
use heapscribe_views::range::RangeReport;
use heapscribe_views::{json, text};

use super::limits::{TOP, TOP_JSON};
use super::{partial, range};
use crate::cli::ReportArgs;

/// Prints it.
pub(super) fn run(
    args: &ReportArgs,
    trace: &Opened,
    resolver: &Resolver,
    out: &mut dyn Write,
) -> Result<ExitCode> {
    let reported = range::report_of(trace, &args.trace, &args.choice.choice(), &args.range)?;
    let command = trace.recording().session().command;
    let part = args.choice.in_words();
    let report = RangeReport {
        figures: &reported.figures,
        times: reported.times,
        command: command.iter().map(|part| lossy(part)).collect::<Vec<_>>().join(" "),
        duration_ns: reported.duration_ns,
        early_times: trace.early_times(),
        part: &part,
        is_estimated: reported.is_estimated,
        causes: &reported.causes,
        problems: &reported.problems,
        top: args.top.unwrap_or(if args.json { TOP_JSON } else { TOP }),
        width: super::output::columns(),
    };
    let tree = &reported.figures.tree;
    if args.json {
        let stacks = json::range::chosen(&report);
        let names = NamedStacks::look_up(tree, stacks.iter().copied(), resolver);
        serde_json::to_writer(&mut *out, &json::range::object(&report, &stacks, &names))?;
        writeln!(out)?;
    } else {
        text::range::print(out, &report, &NamedStacks::look_up(tree, report.wanted(), resolver))?;
    }
    out.flush()?;
    Ok(partial::exit_code(&args.trace, &reported.problems, trace.is_complete()))
}
