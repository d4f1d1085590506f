//! `heapscribe hotspots`: finds the functions that allocate most, and the callers that explain it.
//!
//! A flame graph shows a function that is called from many places as many thin pieces. Here it is one line, and of its
//! callers only those are named that tell something, see [`heapscribe_views::hotspots`].

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use anyhow::Result;

use super::resolver::resolver;
use super::{partial, range};
use crate::cli::{HotspotsArgs, Metric};
use heapscribe_analyze::estimate::Sampling;
use heapscribe_convert::Input;
use heapscribe_convert::profile_sums::Sums;
use heapscribe_symbols::NamedStacks;
use heapscribe_views::text::hotspots::Unit;
use heapscribe_views::{hotspots, text};

/// Runs the command.
pub(crate) fn run(args: &HotspotsArgs) -> Result<ExitCode> {
    args.names.apply();
    let trace = Input::open(&args.trace)?.into_sums(args.salvage.into())?;
    let (measure, answer) = match &trace.profile {
        Some(sums) => {
            args.choice.reject(&args.trace, "a profile")?;
            args.range.reject(&args.trace, "a profile")?;
            (sums.measure(args.metric.map(Metric::measure), &args.trace)?, sums.answer.clone())
        }
        None => {
            let measure = args.metric.unwrap_or(Metric::Allocated).measure();
            let choice = args.choice.choice();
            (measure, range::analyze_of(&trace, &args.trace, &choice, &args.range, measure)?)
        }
    };
    let resolver = resolver(&args.symbols, &[&trace])?;
    let stacks = answer.stacks.iter().map(|s| (s.node, measure.of(s)));
    let stacks: Vec<_> = stacks.filter(|(_, weight)| *weight > 0).collect();
    let names = NamedStacks::look_up(&answer.tree, stacks.iter().map(|(node, _)| *node), &resolver);
    let unit = Unit {
        is_blocks: measure.counts_blocks(),
        is_estimated: answer.sampling.as_ref().is_some_and(Sampling::has_estimates)
            || trace.profile.as_ref().is_some_and(Sums::is_estimated),
    };
    let mut out = BufWriter::new(anstream::stdout().lock());
    text::hotspots::write(&mut out, &hotspots::find(&names, &stacks), (args.top, args.callers), unit)?;
    out.flush()?;
    Ok(partial::exit_code_of(&args.trace, &answer, trace.is_complete()))
}
