//! `heapscribe hotspots`: finds the runs of calls, anywhere in stacks, that allocate most.
//!
//! A flame graph shows a function that is called from many places as many thin pieces. Here every run of
//! frames up to a length is a key, and the heaviest are found in bounded memory with a known error, see
//! [`heapscribe_views::hotspots`]. A run that is part of a longer one with nearly the same weight is not shown.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use anyhow::Result;

use super::partial;
use crate::cli::{HotspotsArgs, Metric};
use heapscribe_convert::{Input, Kind};
use heapscribe_formats::detect::Format;
use heapscribe_symbols::NamedStacks;
use heapscribe_units as units;
use heapscribe_views::hotspots::{Run, Runs, Weigh, count_memtrace, count_native};

/// A run is covered by a longer one that has at least this part of its weight.
const PART_OF_LONGER: f64 = 0.95;

/// Runs the command.
pub(crate) fn run(args: &HotspotsArgs) -> Result<ExitCode> {
    let mut runs = Runs::new(args.entries, args.length);
    let is_all = args.choice.choice().is_all();
    let (problems, is_complete) = match args.metric {
        Metric::Allocated if is_all => count(args, Weigh::Bytes, &mut runs)?,
        Metric::Count if is_all => count(args, Weigh::Blocks, &mut runs)?,
        _ => count_answer(args, &mut runs)?,
    };
    let mut out = BufWriter::new(anstream::stdout().lock());
    print(&mut out, args, &mut runs)?;
    out.flush()?;
    Ok(partial::exit_code(&args.trace, &problems, is_complete))
}

/// Counts allocations while reading, in bounded memory.
fn count(args: &HotspotsArgs, weigh: Weigh, runs: &mut Runs) -> Result<(Vec<String>, bool)> {
    let input = Input::open(&args.trace)?;
    if input.kind() == Kind::File(Format::Memtrace) {
        let mut reader = input.into_memtrace(args.salvage.options(true))?;
        return Ok((count_memtrace(&mut reader, weigh, runs), true));
    }
    let trace = input.into_trace(args.salvage.into())?;
    let resolver = crate::progress::resolver(&args.symbols.debug_dir);
    Ok((count_native(&trace, weigh, &resolver, runs)?, trace.is_complete()))
}

/// Counts figures that need the whole trace: memory grows with the number of stacks.
fn count_answer(args: &HotspotsArgs, runs: &mut Runs) -> Result<(Vec<String>, bool)> {
    let trace = Input::open(&args.trace)?.into_trace(args.salvage.into())?;
    let answer = trace.analyze_of(&args.choice.choice())?;
    let resolver = crate::progress::resolver(&args.symbols.debug_dir);
    let stacks: Vec<_> = answer.stacks.iter().map(|s| (s.node, args.metric.measure().of(s))).collect();
    let has_some = || stacks.iter().filter(|(_, weight)| *weight > 0);
    let named = NamedStacks::look_up(&answer.tree, has_some().map(|(node, _)| *node), &resolver);
    for (node, weight) in has_some() {
        let names = named.frames(*node);
        let stack: Run = names.iter().rev().map(|frame| runs.number(&frame.name())).collect();
        runs.add(&stack, *weight);
    }
    Ok((answer.problems, trace.is_complete()))
}

/// The heaviest runs, without those that a longer one covers.
fn shown(heaviest: &[(Run, u64)], top: usize) -> Vec<&(Run, u64)> {
    let mut shown: Vec<&(Run, u64)> = Vec::new();
    for entry in heaviest {
        let (run, weight) = entry;
        let least = (*weight as f64 * PART_OF_LONGER) as u64;
        let is_covered = heaviest.iter().take_while(|(_, other)| *other >= least).any(|(longer, _)| {
            longer.len() > run.len() && longer.windows(run.len()).any(|part| part == &run[..])
        });
        if !is_covered {
            shown.push(entry);
        }
        if shown.len() == top {
            break;
        }
    }
    shown
}

fn print(out: &mut dyn Write, args: &HotspotsArgs, runs: &mut Runs) -> Result<()> {
    let amount = |n: u64| match args.metric {
        Metric::Count | Metric::Temporary => units::count(n),
        Metric::Peak | Metric::Leaked | Metric::Allocated => units::bytes(n),
    };
    let (whole, error, heaviest) = (runs.whole(), runs.error(), runs.heaviest());
    writeln!(
        out,
        "{} in total; sequences of up to {} calls, each with the amount shown or up to {} ({}) more",
        amount(whole),
        args.length,
        amount(error),
        units::percent(error, whole)
    )?;
    for (run, weight) in shown(&heaviest, args.top) {
        let calls: Vec<_> = run.iter().map(|name| runs.name(*name)).collect();
        let part = units::percent(*weight, whole);
        writeln!(out, "{:>12} {part:>8}  {}", amount(*weight), calls.join(" > "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_not_shown_when_a_longer_one_covers_it() {
        let heaviest = [(vec![1], 100), (vec![1, 2], 99), (vec![2], 99), (vec![3], 60), (vec![1, 3], 50)];
        let check = |top, expected: &[usize]| {
            let expected: Vec<_> = expected.iter().map(|n| &heaviest[*n]).collect();
            assert_eq!(shown(&heaviest, top), expected);
        };
        check(9, &[1, 3, 4]);
        check(1, &[1]);
    }
}
