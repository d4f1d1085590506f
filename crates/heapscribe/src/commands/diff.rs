//! `heapscribe diff`: what became of each stack from one trace to another.
//!
//! Stacks are the same when their functions have the same names, without what another build changes (see
//! [`crate::symbols::stable`]); where a function has no name its place in its file stands for it.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_analyze::answer::{Answer, Frame};
use heapscribe_analyze::diff::{self, Diff, Paths, Side};

use super::partial;
use crate::cli::DiffArgs;
use crate::frames::NamedStacks;
use crate::symbols::Resolver;
use crate::text::diff::{Compared, Sides};
use crate::trace_file::{self, Opened};
use crate::{json, text};

/// Stacks of each direction in the text.
const TOP: usize = 10;
/// The same in JSON.
const TOP_JSON: usize = 1000;

/// Runs the command.
pub(crate) fn run(args: &DiffArgs) -> Result<ExitCode> {
    let files = [&args.before, &args.after];
    let traces = [trace_file::open(files[0])?, trace_file::open(files[1])?];
    let answers = traces.each_ref().map(trace_file::analyze);
    let resolver = Resolver { debug_dir: args.symbols.debug_dir.clone() };
    let names = answers.each_ref().map(|answer| names(answer, args, &resolver));
    let diff = compare(&answers, &names, args);
    let shown = files.map(|file| file.to_string_lossy());
    let side = |n: usize| Compared {
        trace: &shown[n],
        answer: &answers[n],
        names: &names[n],
        is_estimated: is_estimated(&traces[n], &answers[n]),
    };
    let sides = Sides { before: side(0), after: side(1) };
    let mut out = BufWriter::new(anstream::stdout().lock());
    if args.json {
        let object = json::diff::object(&diff, &sides, args.top.unwrap_or(TOP_JSON));
        serde_json::to_writer(&mut out, &object)?;
        writeln!(out)?;
    } else {
        text::diff::print(&mut out, &diff, &sides, args.top.unwrap_or(TOP))?;
    }
    out.flush()?;
    let codes = [0, 1].map(|n| partial::exit_code(files[n], &answers[n].problems, traces[n].is_complete()));
    Ok(if codes[0] == ExitCode::SUCCESS { codes[1] } else { codes[0] })
}

fn names<'a>(answer: &'a Answer, args: &DiffArgs, resolver: &Resolver) -> NamedStacks<'a> {
    let measure = args.by.measure();
    let wanted = answer.stacks.iter().filter(|stack| measure.amount(stack).blocks > 0);
    NamedStacks::look_up(&answer.tree, wanted.map(|stack| stack.node), resolver)
}

fn compare(answers: &[Answer; 2], names: &[NamedStacks<'_>; 2], args: &DiffArgs) -> Diff {
    let mut paths = Paths::default();
    let mut side = |n: usize| {
        let stable = |frame: &Frame| -> Vec<String> {
            names[n].lines(frame, false).iter().rev().map(|line| line.stable_name()).collect()
        };
        Side { answer: &answers[n], paths: paths.merge(&answers[n].tree, stable) }
    };
    let (before, after) = (side(0), side(1));
    diff::diff(&before, &after, args.by.measure())
}

/// Whether not every block was recorded, so that figures stand for more than was seen.
fn is_estimated(trace: &Opened, answer: &Answer) -> bool {
    answer.sampling.is_some() || trace.memtrace.as_ref().is_some_and(|tally| tally.sample_rate < 1.0)
}
