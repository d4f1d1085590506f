//! `heapscribe report` of a profile of another program.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_convert::profile_sums::Sums;
use heapscribe_diagnostics::Problem;
use heapscribe_symbols::{NamedStacks, Resolver};
use heapscribe_views::json;
use heapscribe_views::text::profile::ProfileReport;

use super::limits::{TOP, TOP_JSON};
use super::{output, partial};
use crate::cli::ReportArgs;

/// Runs the command.
pub(super) fn run(args: &ReportArgs, sums: &Sums, resolver: &Resolver) -> Result<ExitCode> {
    reject_questions(args)?;
    let mut out = output::text(args.json);
    let tree = &sums.answer.tree;
    if args.json {
        let stacks = json::profile::chosen(sums, args.top.unwrap_or(TOP_JSON));
        let names = NamedStacks::look_up(tree, stacks.iter().map(|stack| stack.node), resolver);
        serde_json::to_writer(&mut out, &json::profile::ProfileReport::new(sums, &stacks, &names))?;
        writeln!(out)?;
    } else {
        let path = args.trace.to_string_lossy();
        let report = ProfileReport {
            sums,
            top: args.top.unwrap_or(TOP),
            path: &path,
            width: super::output::columns(),
        };
        let mut texts = Vec::new();
        report.print(&mut texts, &NamedStacks::look_up(tree, report.wanted(), resolver))?;
        output::first_screen(&mut out, &texts, args.full || args.top.is_some())?;
    }
    out.flush()?;
    Ok(partial::exit_code(&args.trace, &sums.answer.problems, true))
}

/// What needs events, processes or pages.
fn reject_questions(args: &ReportArgs) -> Result<()> {
    args.choice.reject(&args.trace, "a profile")?;
    args.range.reject(&args.trace, "a profile")?;
    let shown = args.trace.display();
    if args.memory {
        let what = format!("{shown} is a profile, which knows nothing of resident memory");
        return Err(Problem::new(what, "remove --memory").into());
    }
    if !args.messages.messages.is_empty() {
        let what = format!("{shown} is a profile, and --messages needs a full recording");
        let hint = "record the program with `heapscribe record` while it handles messages";
        return Err(Problem::new(what, hint).into());
    }
    Ok(())
}
