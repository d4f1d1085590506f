//! `heapscribe convert --to parquet`, `arrow` and `csv`: tables of stacks and samples in a directory.

use std::ops::Range;
use std::process::ExitCode;

use anyhow::{Context, Result};
use heapscribe_analyze::answer::estimate::Figure;
use heapscribe_analyze::answer::{Amount, Answer, NodeId};
use heapscribe_analyze::input::{Choice, Chosen, History as _};
use heapscribe_analyze::{Options, snapshot};
use heapscribe_convert::Opened;
use heapscribe_convert::tables::batch::{TableFacts, TableWriter};
use heapscribe_convert::tables::output::{ROWS_AT_ONCE, SCHEMA_VERSION, TableFile, TableFormat};
use heapscribe_convert::tables::rows::{Row, Rows, Sum};
use heapscribe_convert::tables::samples::{self, Origin, SORTED_BY};
use heapscribe_convert::tables::stacks::Stacks;
use heapscribe_convert::tables::windows::Windows;
use heapscribe_convert::tables::{events, gather};
use heapscribe_diagnostics::Problem;
use heapscribe_symbols::lossy;
use heapscribe_views::losses::Missing;
use heapscribe_views::process_labels;

use super::resolver::resolver;
use super::{partial, range};
use crate::cli::ConvertArgs;

/// Windows of a table; more are a wrong unit rather than a wish.
const WINDOWS_MAX: u64 = 9999;

/// Runs the command.
pub(super) fn run(args: &ConvertArgs, trace: &Opened, format: TableFormat) -> Result<ExitCode> {
    let written = || format!("cannot write into {}", args.output().display());
    let origin = origin(args, trace);
    let choice = Choice {
        pids: args.pid.into_iter().collect(),
        programs: args.process.iter().cloned().collect(),
        ..Choice::default()
    };
    let part = part(args, trace)?;
    let chosen = trace.chosen(&choice)?;
    let (mut answer, rows) = rows(args, trace, &choice, &chosen, part.clone())?;
    answer.problems.extend_from_slice(&rows.problems);
    let create = |name: &'static str, sorted_by: &[usize]| {
        let facts = TableFacts { name, sorted_by: sorted_by.to_vec(), facts: facts(&answer, trace) };
        TableFile::create(args.output(), format, facts).with_context(written)
    };
    let resolver = resolver(&args.symbols, &[trace])?;
    let mut stacks = Stacks::default();
    let nodes: Vec<NodeId> = rows.rows.iter().map(|row| row.node).collect();
    stacks.add(&rows.tree, &nodes, &resolver);
    let mut problems = Vec::new();
    if args.tables.events {
        let mut file = create("events", &[])?;
        let to = (&mut file as &mut dyn TableWriter, ROWS_AT_ONCE);
        let about = events::write(trace, &chosen, &origin, &part, to).with_context(written)?;
        file.close().with_context(written)?;
        stacks.add(&about.placed.tree, &about.nodes, &resolver);
        problems = about.problems;
    }
    let mut file = create("samples", &SORTED_BY)?;
    let begin_ns = trace.recording().session().begin_mono_ns;
    for batch in samples::batches(&rows, &origin, begin_ns, ROWS_AT_ONCE) {
        file.write(&batch).with_context(written)?;
    }
    file.close().with_context(written)?;
    let mut file = create("stacks", &[0])?;
    for batch in stacks.batches(ROWS_AT_ONCE) {
        file.write(&batch).with_context(written)?;
    }
    file.close().with_context(written)?;
    answer.problems.extend(problems);
    answer.problems.dedup();
    Ok(partial::exit_code_of(&args.trace, &answer, trace.is_complete()))
}

fn origin(args: &ConvertArgs, trace: &Opened) -> Origin {
    let mut origin = Origin::of(trace);
    origin.service.clone_from(&args.tables.service);
    origin.version.clone_from(&args.tables.service_version);
    origin.labels = args.tables.labels.iter().cloned().collect();
    origin
}

/// The part of the time that is wanted, ns after the start.
fn part(args: &ConvertArgs, trace: &Opened) -> Result<Range<u64>, Problem> {
    let asked = args.part.range();
    if asked.live_at.is_some() {
        let what = "tables are of windows of time, not of moments";
        return Err(Problem::new(
            what,
            "remove --live-at; live_bytes is what was live at the end of a window",
        ));
    }
    range::time_of(&asked.from, &asked.to, Some((trace, &args.trace)))
}

/// What is in every file: by which version, of which recording, and what is missing of it.
fn facts(answer: &Answer, trace: &Opened) -> Vec<(&'static str, String)> {
    let rates = answer.sampling.as_ref().map_or(&[][..], |sampling| &sampling.mean_bytes);
    let rates: Vec<String> = rates.iter().map(u64::to_string).collect();
    let command: Vec<String> = answer.command.iter().map(|part| lossy(part)).collect();
    let mut missing = Missing::of(answer).causes();
    if !trace.is_complete() {
        missing.push("the recording is incomplete".to_owned());
    }
    vec![
        ("heapscribe.schema", SCHEMA_VERSION.to_owned()),
        ("heapscribe.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("heapscribe.command", command.join(" ")),
        ("heapscribe.sampled_each_bytes", rates.join(" ")),
        ("heapscribe.missing", missing.join("; ")),
    ]
}

/// The rows, and the answer about the whole, for what it says of losses.
fn rows(
    args: &ConvertArgs,
    trace: &Opened,
    choice: &Choice,
    chosen: &Chosen,
    part: Range<u64>,
) -> Result<(Answer, Rows)> {
    let of_snapshot = snapshot::is_one(&**trace).then(|| snapshot::analyze(&**trace).into_iter().next());
    let recording = trace.recording();
    let session = recording.session();
    let is_rest = session.window_mono_ns > session.begin_mono_ns;
    let of_snapshot = of_snapshot.flatten().map(|snapshot| snapshot.to_answer());
    let options = Options { splits_processes: true, ..Options::default() };
    let answer = match of_snapshot {
        None if !is_rest => {
            let answer = trace.analyze_with(choice, &options)?;
            let windows = Windows::new(answer.begin_mono_ns, answer.duration_ns, part, args.every);
            if windows.count() > WINDOWS_MAX {
                let what = format!("--every would give more than {WINDOWS_MAX} windows");
                return Err(Problem::new(what, "give a longer time, such as --every 60s").into());
            }
            return Ok((answer, gather::rows(&recording, chosen, &windows)));
        }
        None => trace.analyze_with(choice, &options)?,
        Some(snapshot) => snapshot,
    };
    if args.every.is_some() || args.tables.events || args.part.range().is_any() {
        let what = format!("{} has no moments to choose: it is a snapshot or a ring", args.trace.display());
        return Err(Problem::new(what, "remove --every, --events and --range").into());
    }
    let rows = of_answer(&answer);
    Ok((answer, rows))
}

/// A ring and a snapshot have sums of stacks only: one window, without threads.
fn of_answer(answer: &Answer) -> Rows {
    let estimates = answer.sampling.as_ref().map_or(&[][..], |sampling| &sampling.stacks);
    let sum = |amount: Amount, variances: Option<(Figure, Figure)>| {
        let (blocks, bytes) = variances.unwrap_or_default();
        Sum {
            blocks: amount.blocks,
            bytes: amount.bytes,
            // Conversions from floating point stay within the type.
            blocks_variance: blocks.variance as u128,
            bytes_variance: bytes.variance as u128,
        }
    };
    let row = |(n, stack): (usize, &heapscribe_analyze::answer::Stack)| {
        let of = estimates.get(n);
        Row {
            process: process_labels::process(&answer.tree, stack.node).unwrap_or(0),
            thread: None,
            node: stack.node,
            from_ns: answer.begin_mono_ns,
            to_ns: answer.begin_mono_ns.saturating_add(answer.duration_ns),
            allocated: sum(stack.allocated, of.map(|of| (of.allocated.blocks, of.allocated.bytes))),
            live: sum(stack.leaked, of.map(|of| (of.leaked.blocks, of.leaked.bytes))),
        }
    };
    let rows = answer.stacks.iter().enumerate().map(row);
    let rows = rows.filter(|row| row.allocated != Sum::default() || row.live != Sum::default()).collect();
    Rows { tree: answer.tree.clone(), rows, problems: Vec::new() }
}
