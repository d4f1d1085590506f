//! `heapscribe plot`: draws the heap over time.

use std::process::ExitCode;

use anyhow::{Context, Result};
use heapscribe_analyze::{Options, go};
use heapscribe_formats::detect::Format;

use super::partial;
use crate::cli::PlotArgs;
use crate::message::Problem;
use crate::plot::{self, Form};
use crate::trace_file;

/// Runs the command.
pub(crate) fn run(args: &PlotArgs) -> Result<ExitCode> {
    let form = Form::of(&args.output)?;
    if trace_file::format(&args.trace)? == Format::Go {
        return run_go(args, form);
    }
    let trace = trace_file::open(&args.trace, args.salvage)?;
    let answer = trace_file::analyze(&trace);
    if answer.timeline.steps.is_empty() {
        return Err(nothing_to_draw(args).into());
    }
    let bytes = form.bytes(plot::svg(&plot::picture(&answer))?)?;
    std::fs::write(&args.output, bytes).with_context(|| format!("cannot write {}", args.output.display()))?;
    Ok(partial::exit_code(&args.trace, &answer.problems, trace.is_complete()))
}

fn nothing_to_draw(args: &PlotArgs) -> Problem {
    let what = format!("nothing to draw: {} has no events", args.trace.display());
    let hint = format!("see what it contains: heapscribe report {}", args.trace.display());
    Problem::new(what, hint)
}

/// The same for a Go trace.
fn run_go(args: &PlotArgs, form: Form) -> Result<ExitCode> {
    let shown = args.trace.to_string_lossy();
    let trace = trace_file::open_go(&args.trace)?;
    let answer = go::analyze(&trace, &Options::default()).with_context(|| format!("cannot read {shown}"))?;
    if answer.curve.changes == 0 {
        return Err(nothing_to_draw(args).into());
    }
    let bytes = form.bytes(plot::svg(&plot::picture_of_go(&answer, &shown))?)?;
    std::fs::write(&args.output, bytes).with_context(|| format!("cannot write {}", args.output.display()))?;
    Ok(partial::exit_code(&args.trace, &trace_file::go_problems(&trace), true))
}
