//! `heapscribe diff`: compares two traces stack by stack.
//!
//! Stacks are the same when their functions have the same names, without what another build changes (see
//! [`heapscribe_symbols::NamedFrame::stable_name`]); where a function has no name its place in its file stands for it.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_analyze::answer::{Amount, Answer, Frame};
use heapscribe_analyze::diff::{self, Diff, Paths, Side};
use heapscribe_analyze::estimate::Sampling;
use heapscribe_analyze::measure::Measure;
use heapscribe_analyze::snapshot::{self, Snapshot};

use super::limits::{TOP, TOP_JSON};
use super::resolver::resolver;
use super::{output, partial, range};
use crate::cli::{DiffArgs, DiffSide, Metric};
use heapscribe_convert::profile_sums::Sums;
use heapscribe_convert::{Input, Opened};
use heapscribe_diagnostics::Problem;
use heapscribe_symbols::{NamedFrame, NamedStacks, Resolver};
use heapscribe_views::comparison::{Compared, Sides};
use heapscribe_views::{json, text};

/// Runs the command.
pub(crate) fn run(args: &DiffArgs) -> Result<ExitCode> {
    args.names.apply();
    let sides = args.sides()?;
    let open = |side: &DiffSide<'_>| Input::open(side.file)?.into_sums(args.salvage.into());
    let traces = [open(&sides[0])?, open(&sides[1])?];
    let measure = measure(args, &sides, &traces)?;
    let answer = |n: usize| answer(args, &sides[n], &traces[n], measure);
    let answers = [answer(0)?, answer(1)?];
    let resolver = resolver(&args.symbols, &[&traces[0], &traces[1]])?;
    let names = answers.each_ref().map(|answer| names(answer, measure, &resolver));
    // Another run of a program has what is in no file elsewhere; profiles of one process, or of files that are not
    // moved, have the same addresses.
    let by_address = traces.iter().all(|trace| trace.profile.is_some());
    let diff = compare(&answers, &names, measure, by_address);
    let shown = sides.each_ref().map(|side| side.file.to_string_lossy());
    let compared = |n: usize| Compared {
        trace: &shown[n],
        range: sides[n].range.in_words(),
        answer: &answers[n],
        names: &names[n],
        is_estimated: is_estimated(&traces[n], &answers[n]),
        has_events: traces[n].profile.is_none(),
        has_blocks: traces[n].profile.as_ref().is_none_or(|sums| sums.knows_blocks(measure)),
    };
    let is_moment =
        |trace: &Opened| snapshot::is_one(trace) || trace.profile.is_some() && measure == Measure::Leaked;
    let of_live = traces.iter().any(is_moment) || sides[1].range.live_at.is_some();
    let of_both = Sides { before: compared(0), after: compared(1), of_live };
    let mut out = output::text(args.json);
    if args.json {
        let object = json::diff::object(&diff, &of_both, args.top.unwrap_or(TOP_JSON));
        serde_json::to_writer(&mut out, &object)?;
        writeln!(out)?;
    } else {
        let top = args.top.unwrap_or(TOP);
        text::diff::print(&mut out, &diff, &of_both, top, super::output::columns())?;
    }
    out.flush()?;
    let code = |n: usize| partial::exit_code_of(sides[n].file, &answers[n], traces[n].is_complete());
    let first = code(0);
    Ok(if first == ExitCode::SUCCESS && sides[0].file != sides[1].file { code(1) } else { first })
}

/// The answer of a trace; a snapshot counts as a recording that ended with it.
fn answer(args: &DiffArgs, side: &DiffSide<'_>, trace: &Opened, measure: Measure) -> Result<Answer> {
    if let Some(sums) = &trace.profile {
        args.choice.reject(side.file, "a profile")?;
        side.range.reject(side.file, "a profile")?;
        return Ok(sums.answer.clone());
    }
    let snapshots = if snapshot::is_one(trace) { snapshot::analyze(trace) } else { Vec::new() };
    if let Some(snapshot) = snapshots.first() {
        args.choice.reject(side.file, "a snapshot")?;
        side.range.reject(side.file, "a snapshot")?;
        return Ok(Snapshot::to_answer(snapshot));
    }
    range::analyze_of(trace, side.file, &args.choice.choice(), &side.range, measure)
}

/// The measure to compare: a snapshot has live blocks only.
fn measure(args: &DiffArgs, sides: &[DiffSide<'_>; 2], traces: &[Opened; 2]) -> Result<Measure> {
    let snapshot = traces.iter().zip(sides).find(|(trace, _)| snapshot::is_one(trace));
    let of_profiles = profiles_measure(args, sides, traces, snapshot.is_some())?;
    if let Some(measure) = of_profiles {
        return Ok(measure);
    }
    match (args.metric(), snapshot) {
        (None | Some(Metric::Leaked), Some(_)) => Ok(Measure::Leaked),
        (by, None) => Ok(by.unwrap_or_else(|| args.default_metric()).measure()),
        (Some(_), Some((_, side))) => {
            let what = format!("{} is a snapshot, which contains only live blocks", side.file.display());
            Err(Problem::new(what, "use --metric leaked, or remove --metric").into())
        }
    }
}

/// Where a side is a profile: what is asked for, or the first figure that each side has.
fn profiles_measure(
    args: &DiffArgs,
    sides: &[DiffSide<'_>; 2],
    traces: &[Opened; 2],
    has_snapshot: bool,
) -> Result<Option<Measure>, Problem> {
    let of_snapshot = has_snapshot.then_some(Measure::Leaked);
    let mut asked = args.metric().map(Metric::measure).or(of_snapshot);
    let profiles: Vec<_> = traces.iter().map(|trace| trace.profile.as_ref()).collect();
    if let ([Some(before), Some(after)], None) = (&profiles[..], asked) {
        asked = before.measures().into_iter().find(|measure| after.knows(*measure));
    }
    for (sums, side) in profiles.into_iter().zip(sides) {
        if let Some(sums) = sums {
            asked = Some(sums.measure(asked, side.file)?);
        }
    }
    Ok(asked.filter(|_| traces.iter().any(|trace| trace.profile.is_some())))
}

fn names<'a>(answer: &'a Answer, measure: Measure, resolver: &Resolver) -> NamedStacks<'a> {
    let wanted = answer.stacks.iter().filter(|stack| measure.amount(stack) != Amount::default());
    NamedStacks::look_up(&answer.tree, wanted.map(|stack| stack.node), resolver)
}

fn compare(answers: &[Answer; 2], names: &[NamedStacks<'_>; 2], measure: Measure, by_address: bool) -> Diff {
    let mut paths = Paths::default();
    let mut side = |n: usize| side(&answers[n], &names[n], &mut paths, by_address);
    let (before, after) = (side(0), side(1));
    diff::diff(&before, &after, measure)
}

/// One side of a comparison, by names that are stable across builds; of code in no file by address, or as one.
pub(super) fn side<'a>(
    answer: &'a Answer,
    names: &NamedStacks<'_>,
    paths: &mut Paths,
    by_address: bool,
) -> Side<'a> {
    let stable = |frame: &Frame| -> Vec<String> {
        let name = |line: &NamedFrame| match by_address && line.function.is_none() {
            true => line.name(),
            false => line.stable_name(),
        };
        names.lines(frame, false).iter().rev().map(name).collect()
    };
    Side { answer, paths: paths.merge(&answer.tree, stable) }
}

/// Whether only samples were recorded, so that figures are estimates.
fn is_estimated(trace: &Opened, answer: &Answer) -> bool {
    answer.sampling.as_ref().is_some_and(Sampling::has_estimates)
        || trace.profile.as_ref().is_some_and(Sums::is_estimated)
        || trace.memtrace.as_ref().is_some_and(|tally| tally.sample_rate < 1.0)
}
