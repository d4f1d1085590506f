//! `heapscribe hotspots`: finds the functions that allocate most, and the callers that explain it.
//!
//! A flame graph shows a function that is called from many places as many thin pieces. Here it is one line, and of its
//! callers only those are named that tell something, see [`heapscribe_views::hotspots`].

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use anyhow::Result;

use super::resolver::resolver;
use super::{partial, range};
use crate::cli::HotspotsArgs;
use heapscribe_analyze::estimate::Sampling;
use heapscribe_convert::Input;
use heapscribe_symbols::NamedStacks;
use heapscribe_views::text::hotspots::Unit;
use heapscribe_views::{hotspots, text};

/// Runs the command.
pub(crate) fn run(args: &HotspotsArgs) -> Result<ExitCode> {
    let trace = Input::open(&args.trace)?.into_trace(args.salvage.into())?;
    let measure = args.metric.measure();
    let answer = range::analyze_of(&trace, &args.trace, &args.choice.choice(), &args.range, measure)?;
    let resolver = resolver(&args.symbols, &[&trace])?;
    let stacks = answer.stacks.iter().map(|s| (s.node, args.metric.measure().of(s)));
    let stacks: Vec<_> = stacks.filter(|(_, weight)| *weight > 0).collect();
    let names = NamedStacks::look_up(&answer.tree, stacks.iter().map(|(node, _)| *node), &resolver);
    let unit = Unit {
        is_blocks: args.metric.measure().counts_blocks(),
        is_estimated: answer.sampling.as_ref().is_some_and(Sampling::has_estimates),
    };
    let mut out = BufWriter::new(anstream::stdout().lock());
    text::hotspots::write(&mut out, &hotspots::find(&names, &stacks), args.top, unit)?;
    out.flush()?;
    Ok(partial::exit_code_of(&args.trace, &answer, trace.is_complete()))
}
