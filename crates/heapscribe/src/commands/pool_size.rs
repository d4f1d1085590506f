//! `heapscribe pool-size`: finds the pool size that a program needs.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;

use super::{output, partial};
use crate::cli::PoolSizeArgs;
use crate::replay::chosen::Chosen;
use crate::replay::sizing::{SizingOptions, find};
use crate::replay::sizing_text;
use heapscribe_convert::{Input, Salvage};

/// Runs the command.
pub(crate) fn run(args: &PoolSizeArgs) -> Result<ExitCode> {
    let trace = Input::open(&args.trace)?.into_trace(Salvage::default())?;
    let chosen = Chosen::of(&trace, args.process.pid, args.process.program.as_deref())?;
    let options = SizingOptions { margin_percent: args.margin, trials: args.trials, window_ns: args.window };
    let found = find(&trace, chosen, options)?;
    let mut out = output::stdout(args.json);
    if args.json {
        serde_json::to_writer_pretty(&mut out, &found)?;
        writeln!(out)?;
    } else {
        sizing_text::print(&mut out, &found)?;
    }
    out.flush()?;
    let mut problems = found.process.estimate.clone();
    let not_verified = found.not_verified.filter(|_| problems.is_empty());
    problems.extend(not_verified.map(|why| format!("not verified: {why}")));
    Ok(partial::exit_code(&args.trace, &problems, trace.is_complete()))
}
