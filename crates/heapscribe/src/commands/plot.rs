//! `heapscribe plot`: draws what changes with time.

use std::process::ExitCode;

use anyhow::{Context, Result};

use super::partial;
use crate::cli::PlotArgs;
use crate::message::Problem;
use crate::plot::{self, Form};
use crate::trace_file;

/// Runs the command.
pub(crate) fn run(args: &PlotArgs) -> Result<ExitCode> {
    let form = Form::of(&args.output)?;
    let trace = trace_file::open(&args.trace)?;
    let answer = trace_file::analyze(&trace);
    if answer.timeline.steps.is_empty() {
        let what = format!("{} has no event, so there is nothing to draw", args.trace.display());
        let hint = format!("see what it has: heapscribe report {}", args.trace.display());
        return Err(Problem::new(what, hint).into());
    }
    let bytes = form.bytes(plot::svg(&plot::picture(&answer))?)?;
    std::fs::write(&args.output, bytes).with_context(|| format!("cannot write {}", args.output.display()))?;
    Ok(partial::exit_code(&args.trace, &answer.problems, trace.is_complete()))
}
