//! `heapscribe hotspots`: which runs of calls, wherever they stand in stacks, have most of the bytes.
//!
//! A flame graph shows a function that is called from many places as many thin pieces. Here every run of
//! up to some frames is a key of its own, and the heaviest are found in bounded memory, with the error that
//! this may cost. A run that is but a part of a longer one with nearly the same weight is not shown.

use std::collections::{HashMap, HashSet};
use std::io::{BufWriter, Write};
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_analyze::answer::Answer;
use heapscribe_analyze::heavy::Heavy;

use super::partial;
use crate::cli::{FlameOf, HotspotsArgs};
use crate::frames::NamedStacks;
use crate::symbols::Resolver;
use crate::text::number;
use crate::trace_file;

/// A run of names, outermost first, by their numbers.
type Run = Vec<u32>;

/// A run is told by a longer one that has at least this part of its weight.
const TOLD_BY_LONGER: f64 = 0.95;

/// Runs the command.
pub(crate) fn run(args: &HotspotsArgs) -> Result<ExitCode> {
    let trace = trace_file::open(&args.trace)?;
    let answer = trace_file::analyze(&trace);
    let resolver = Resolver { debug_dir: args.symbols.debug_dir.clone() };
    let mut names = Names::default();
    let heavy = collect(args, &answer, &resolver, &mut names);
    let mut out = BufWriter::new(anstream::stdout().lock());
    print(&mut out, args, &heavy, &names)?;
    out.flush()?;
    Ok(partial::exit_code(&args.trace, &answer.problems, trace.is_complete()))
}

/// Names of frames, each once.
#[derive(Default)]
struct Names {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    fn number(&mut self, name: String) -> u32 {
        let next = self.names.len() as u32;
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        })
    }
}

/// What was counted: runs, and the weight of all stacks.
struct Counted {
    runs: Heavy<Run>,
    whole: u64,
}

fn collect(args: &HotspotsArgs, answer: &Answer, resolver: &Resolver, names: &mut Names) -> Counted {
    let stacks: Vec<_> = answer
        .stacks
        .iter()
        .map(|s| (s.node, args.of.measure().of(s)))
        .filter(|(_, weight)| *weight > 0)
        .collect();
    let named = NamedStacks::look_up(&answer.tree, stacks.iter().map(|(node, _)| *node), resolver);
    let mut counted = Counted { runs: Heavy::new(args.entries), whole: 0 };
    let mut seen = HashSet::new();
    for (node, weight) in stacks {
        let frames: Run = named.frames(node).iter().rev().map(|frame| names.number(frame.name())).collect();
        counted.whole = counted.whole.saturating_add(weight);
        // A run that a stack has several times, by recursion, has its weight once.
        seen.clear();
        for begin in 0..frames.len() {
            for end in begin + 1..=(begin + args.length).min(frames.len()) {
                if seen.insert(frames[begin..end].to_vec()) {
                    counted.runs.add(&frames[begin..end].to_vec(), weight);
                }
            }
        }
    }
    counted
}

/// The heaviest runs, without those that a longer one tells.
fn shown(heaviest: &[(Run, u64)], top: usize) -> Vec<&(Run, u64)> {
    let mut shown: Vec<&(Run, u64)> = Vec::new();
    for entry in heaviest {
        let (run, weight) = entry;
        let least = (*weight as f64 * TOLD_BY_LONGER) as u64;
        let told = heaviest.iter().take_while(|(_, other)| *other >= least).any(|(longer, _)| {
            longer.len() > run.len() && longer.windows(run.len()).any(|part| part == &run[..])
        });
        if !told {
            shown.push(entry);
        }
        if shown.len() == top {
            break;
        }
    }
    shown
}

fn print(out: &mut dyn Write, args: &HotspotsArgs, counted: &Counted, names: &Names) -> Result<()> {
    let amount = |n: u64| match args.of {
        FlameOf::Count | FlameOf::Temporary => number::count(n),
        FlameOf::Peak | FlameOf::Leaked | FlameOf::Allocated => number::bytes(n),
    };
    let (whole, error) = (counted.whole, counted.runs.error());
    writeln!(
        out,
        "{} in all; of runs of up to {} calls each has what is shown or up to {} ({}) more",
        amount(whole),
        args.length,
        amount(error),
        number::percent(error, whole)
    )?;
    for (run, weight) in shown(&counted.runs.heaviest(), args.top) {
        let calls: Vec<_> = run.iter().map(|name| names.names[*name as usize].as_str()).collect();
        let part = number::percent(*weight, whole);
        writeln!(out, "{:>12} {part:>8}  {}", amount(*weight), calls.join(" > "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_not_shown_beside_a_longer_one_that_tells_it() {
        let heaviest = [(vec![1], 100), (vec![1, 2], 99), (vec![2], 99), (vec![3], 60), (vec![1, 3], 50)];
        let check = |top, expected: &[usize]| {
            let expected: Vec<_> = expected.iter().map(|n| &heaviest[*n]).collect();
            assert_eq!(shown(&heaviest, top), expected);
        };
        check(9, &[1, 3, 4]);
        check(1, &[1]);
    }
}
