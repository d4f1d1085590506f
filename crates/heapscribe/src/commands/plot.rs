//! `heapscribe plot`: draws the heap over time.

use std::process::ExitCode;

use anyhow::{Context, Result};
use heapscribe_analyze::{Options, go};

use super::partial;
use crate::cli::PlotArgs;
use heapscribe_convert::gotrace::go_problems;
use heapscribe_convert::{Input, Kind};
use heapscribe_diagnostics::Problem;
use heapscribe_formats::detect::Format;
use heapscribe_views::pictures::{self, Form};

/// Runs the command.
pub(crate) fn run(args: &PlotArgs) -> Result<ExitCode> {
    let form = Form::of(&args.output)?;
    let input = Input::open(&args.trace)?;
    if input.kind() == Kind::File(Format::Go) {
        args.choice.reject(&args.trace, "a Go trace")?;
        return run_go(args, input, form);
    }
    let trace = input.into_trace(args.salvage.into())?;
    let answer = trace.analyze_of(&args.choice.choice())?;
    if answer.timeline.steps.is_empty() {
        return Err(nothing_to_draw(args).into());
    }
    let bytes = form.bytes(pictures::svg(&pictures::picture(&answer))?)?;
    std::fs::write(&args.output, bytes).with_context(|| format!("cannot write {}", args.output.display()))?;
    Ok(partial::exit_code_of(&args.trace, &answer, trace.is_complete()))
}

fn nothing_to_draw(args: &PlotArgs) -> Problem {
    let what = format!("nothing to draw: {} has no events", args.trace.display());
    let hint = format!("see what it contains: heapscribe report {}", args.trace.display());
    Problem::new(what, hint)
}

/// The same for a Go trace.
fn run_go(args: &PlotArgs, input: Input, form: Form) -> Result<ExitCode> {
    let shown = args.trace.to_string_lossy();
    let trace = input.into_go()?;
    let answer = go::analyze(&trace, &Options::default()).with_context(|| format!("cannot read {shown}"))?;
    if answer.curve.changes == 0 {
        return Err(nothing_to_draw(args).into());
    }
    let bytes = form.bytes(pictures::svg(&pictures::picture_of_go(&answer, &shown))?)?;
    std::fs::write(&args.output, bytes).with_context(|| format!("cannot write {}", args.output.display()))?;
    Ok(partial::exit_code(&args.trace, &go_problems(&trace), true))
}
