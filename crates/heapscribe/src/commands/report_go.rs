//! `heapscribe report` of a Go trace.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use heapscribe_analyze::{Options, go};
use heapscribe_formats::gotrace::Layout;

use super::limits::{TOP, TOP_JSON};
use super::{output, partial};
use crate::cli::ReportArgs;
use heapscribe_convert::Input;
use heapscribe_convert::gotrace::go_problems;
use heapscribe_views::json;

use heapscribe_diagnostics::Problem;
use heapscribe_views::text::go::GoReport;

/// Runs the command.
pub(super) fn run(args: &ReportArgs, input: Input) -> Result<ExitCode> {
    let shown = args.trace.to_string_lossy();
    let trace = input.into_go()?;
    if trace.events() == 0 {
        let hint = match trace.version().layout() {
            Layout::One => "call trace.Stop before the program exits, or build it with Go 1.22 or later",
            Layout::Two => "call trace.Stop before the program exits, or let it run for more than a second",
        };
        return Err(Problem::new(format!("{shown} has no events"), hint).into());
    }
    let answer = go::analyze(&trace, &Options::default()).with_context(|| format!("cannot read {shown}"))?;
    let problems = go_problems(&trace);
    let mut out = output::text(args.json);
    if args.json {
        serde_json::to_writer(&mut out, &json::go::report(&answer, args.top.unwrap_or(TOP_JSON), &problems))?;
        writeln!(out)?;
    } else {
        let report = GoReport {
            answer: &answer,
            top: args.top.unwrap_or(TOP),
            trace: &shown,
            problems: &problems,
            width: super::output::columns(),
        };
        let mut text = Vec::new();
        report.print(&mut text)?;
        output::first_screen(&mut out, &text, args.full)?;
    }
    out.flush()?;
    Ok(partial::exit_code(&args.trace, &problems, true))
}
