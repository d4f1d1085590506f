//! `heapscribe replay`: the recorded calls on other heaps.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use heapscribe_replay::Touch;

use super::{output, partial};
use crate::cli::{ReplayArgs, TouchArg};
use crate::message;
use crate::replay::chosen::Chosen;
use crate::replay::compare::{Comparison, Plan, compare};
use crate::replay::{self, advice, advice_text, prepare, text};
use heapscribe_convert::{Input, Opened, Salvage};
use heapscribe_views::pictures::{self, Form};

/// Runs the command.
pub(crate) fn run(args: &ReplayArgs) -> Result<ExitCode> {
    let form = args.output.as_deref().map(Form::of).transpose()?;
    let trace = Input::open(&args.trace)?.into_trace(Salvage::default())?;
    let mut chosen = Chosen::of(&trace, args.process.pid, args.process.program.as_deref())?;
    if args.advice {
        return advise(args, &trace, chosen);
    }
    let prepared = prepare::prepare(&trace, chosen.process(&trace), None)?;
    chosen.doubt(&prepared.doubts, prepared.may_lack_frees);
    let comparison = compare(&plan(args), chosen, &prepared);
    if let (Some(form), Some(path)) = (form, &args.output) {
        let bytes = form.bytes(pictures::svg(&replay::picture(&comparison))?)?;
        std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let mut out = output::stdout(args.json);
    if args.json {
        serde_json::to_writer_pretty(&mut out, &comparison)?;
        writeln!(out)?;
    } else {
        text::print(&mut out, &comparison)?;
    }
    out.flush()?;
    Ok(exit_code(args, &comparison, trace.is_complete()))
}

/// Says which setting keeps least memory.
fn advise(args: &ReplayArgs, trace: &Opened, mut chosen: Chosen) -> Result<ExitCode> {
    let prepared = prepare::prepare_threads(trace, chosen.process(trace))?;
    chosen.doubt(&prepared.doubts, prepared.may_lack_frees);
    let advice = advice::advise(chosen, &prepared, touch(args));
    let mut out = output::stdout(args.json);
    if args.json {
        serde_json::to_writer_pretty(&mut out, &advice)?;
        writeln!(out)?;
    } else {
        advice_text::print(&mut out, &advice)?;
    }
    out.flush()?;
    if advice.settings.iter().all(|of| of.error.is_some()) {
        return Ok(crate::exit::failed());
    }
    Ok(partial::exit_code(&args.trace, &advice.process.estimate, trace.is_complete()))
}

fn touch(args: &ReplayArgs) -> Touch {
    match args.touch {
        TouchArg::Pages => Touch::Pages,
        TouchArg::All => Touch::All,
        TouchArg::None => Touch::Nothing,
    }
}

fn plan(args: &ReplayArgs) -> Plan {
    Plan {
        heaps: args.heap.clone(),
        rounds: args.rounds,
        touch: touch(args),
        pool_bytes: args.pool,
        grow_bytes: args.grow,
    }
}

/// Prints the heaps that could not be run; if all failed there is no answer.
fn exit_code(args: &ReplayArgs, comparison: &Comparison, is_complete: bool) -> ExitCode {
    let failed: Vec<_> = comparison.heaps.iter().filter_map(|h| Some((&h.name, h.error.as_ref()?))).collect();
    for (name, error) in &failed {
        message::failure(&format!("{name}: {error}"));
    }
    if !failed.is_empty() {
        message::hint("a library is loaded with LD_PRELOAD and must export malloc");
    }
    if failed.len() == comparison.heaps.len() {
        return crate::exit::failed();
    }
    if !failed.is_empty() {
        return crate::exit::partial();
    }
    partial::exit_code(&args.trace, &comparison.process.estimate, is_complete)
}
