//! `heapscribe flame`: draws flame graphs; `--metric` chooses the width of a frame.

use std::collections::BTreeSet;
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_analyze::Options;
use heapscribe_analyze::answer::{Amount, Answer, CallTree, NodeId, Process};
use heapscribe_analyze::snapshot::{self, Snapshot};

use super::flame_graph::{Call, FlameGraph, without_recursion};
use super::flame_narrow::narrowed;
use super::flame_picture::{Caption, Form, draw, form, unit};
use super::resolver::resolver;
use super::{flame_go, partial, range, report_memory};
use crate::cli::{FlameArgs, Metric};
use crate::message;
use heapscribe_convert::profile_sums::Sums;
use heapscribe_convert::{Input, Kind, Opened};
use heapscribe_diagnostics::Problem;
use heapscribe_formats::detect::Format;
use heapscribe_symbols::Resolver;
use heapscribe_symbols::{NamedFrame, NamedStacks, are_full_names_shown, lossy};
use heapscribe_views::plumbing::plumbing;
use heapscribe_views::process_labels;
use heapscribe_views::text;
use heapscribe_views::text::tables;

/// Runs the command.
pub(crate) fn run(args: &FlameArgs) -> Result<ExitCode> {
    args.names.apply();
    let form = form(&args.output)?;
    let input = Input::open(&args.trace)?;
    match input.kind() {
        Kind::File(Format::Go) => {
            args.choice.reject(&args.trace, "a Go trace")?;
            args.range.reject(&args.trace, "a Go trace")?;
            return flame_go::run(args, input, form);
        }
        Kind::File(Format::Heaplog) => return Err(no_stacks(args).into()),
        _ => {}
    }
    let trace = input.into_sums(args.salvage.into())?;
    let resolver = resolver(&args.symbols, &[&trace])?;
    if let Some(sums) = &trace.profile {
        return flame_sums(args, form, sums, &resolver);
    }
    if args.is_pinned() {
        return flame_pinned(args, form, &trace, &resolver);
    }
    let is_snapshot = snapshot::is_one(&*trace);
    if let Some(snapshot) = is_snapshot.then(|| snapshot::analyze(&*trace)).into_iter().flatten().next() {
        args.choice.reject(&args.trace, "a snapshot")?;
        args.range.reject(&args.trace, "a snapshot")?;
        let is_count = args.metric() == Metric::Count;
        let width = |live: Amount| if is_count { live.blocks } else { live.bytes };
        let stacks = snapshot.stacks.iter().map(|stack| (stack.node, width(stack.live)));
        let graph = graph(&snapshot.tree, &[], stacks, &resolver, args.fold_recursion, form);
        draw(args, form, &graph, &live_caption(&snapshot, args.metric()))?;
        return Ok(partial::exit_code(&args.trace, &snapshot.problems, trace.is_complete()));
    }
    let measure = args.metric().measure();
    let options = Options { splits_processes: !args.merge_processes, ..Options::default() };
    let answer =
        range::analyze_with(&trace, &args.trace, &args.choice.choice(), &args.range, measure, &options)?;
    let caption =
        Caption { title: title(&answer, args), command: command(&answer.command), unit: unit(args.metric()) };
    let stacks = answer.stacks.iter().map(|stack| (stack.node, args.metric().measure().of(stack)));
    let graph = graph(&answer.tree, &answer.processes, stacks, &resolver, args.fold_recursion, form);
    draw(args, form, &graph, &caption)?;
    Ok(partial::exit_code_of(&args.trace, &answer, trace.is_complete()))
}

/// A profile of another program.
fn flame_sums(args: &FlameArgs, form: Form, sums: &Sums, resolver: &Resolver) -> Result<ExitCode> {
    args.choice.reject(&args.trace, "a profile")?;
    args.range.reject(&args.trace, "a profile")?;
    if args.is_pinned() {
        return Err(no_pages(args).into());
    }
    let measure = sums.measure(args.asked_metric().map(Metric::measure), &args.trace)?;
    let answer = &sums.answer;
    let stacks = answer.stacks.iter().map(|stack| (stack.node, measure.of(stack)));
    let graph = graph(&answer.tree, &[], stacks, resolver, args.fold_recursion, form);
    let estimated = if sums.is_estimated() { " (estimated)" } else { "" };
    let title = format!("{}{estimated}", text::profile::title(measure));
    let unit = if measure.counts_blocks() { "blocks" } else { "bytes" };
    draw(args, form, &graph, &Caption { title, command: command(&answer.command), unit })?;
    Ok(partial::exit_code(&args.trace, &answer.problems, true))
}

fn no_pages(args: &FlameArgs) -> Problem {
    let what = format!("{} is a profile, which knows nothing of pages", args.trace.display());
    Problem::new(what, "use --metric leaked, allocated, peak or count, or remove --metric")
}

/// Who keeps nearly empty pages of the process of a snapshot.
fn flame_pinned(args: &FlameArgs, form: Form, trace: &Opened, resolver: &Resolver) -> Result<ExitCode> {
    args.choice.reject(&args.trace, "a snapshot")?;
    args.range.reject(&args.trace, "a snapshot")?;
    let all = report_memory::of_trace(trace, &args.trace.display().to_string())?;
    let (snapshot, memory) = &all[0];
    if memory.is_sampled {
        let what = format!(
            "the blocks of {} were sampled, so nobody knows who keeps its pages",
            args.trace.display()
        );
        return Err(Problem::new(what, "record without --sample").into());
    }
    if memory.is_cut {
        let what = format!(
            "{} lacks blocks or pages of its snapshot, so nobody knows who keeps pages",
            args.trace.display()
        );
        return Err(Problem::new(what, "take another snapshot, or copy the file again if it was cut").into());
    }
    let stacks = memory.pinned.iter().map(|of| (of.node, of.resident_bytes));
    let graph = graph(&snapshot.tree, &[], stacks, resolver, args.fold_recursion, form);
    let of_live = live_caption(snapshot, Metric::Peak);
    draw(
        args,
        form,
        &graph,
        &Caption { title: "Resident bytes of nearly empty pages".to_owned(), ..of_live },
    )?;
    let problems: Vec<_> = snapshot.problems.iter().chain(&memory.problems).cloned().collect();
    Ok(partial::exit_code(&args.trace, &problems, trace.is_complete()))
}

fn no_stacks(args: &FlameArgs) -> Problem {
    let shown = args.trace.display();
    Problem::new(
        format!("{shown} is a heaphook log, which has no stacks to draw"),
        format!("plot the heap instead: heapscribe plot {shown} -o heap.svg"),
    )
}

fn title(answer: &Answer, args: &FlameArgs) -> String {
    let title = match args.metric() {
        Metric::Count if args.range.live_at.is_some() => "Blocks live",
        _ if args.range.live_at.is_some() => "Bytes live",
        Metric::Peak => "Bytes live at the peak of the heap",
        Metric::Leaked => "Bytes never freed",
        Metric::Allocated => "Bytes allocated",
        Metric::Count => "Number of allocations",
        Metric::Temporary => "Blocks freed before the next allocation",
    };
    let title = tables::estimated(answer, title);
    if args.range.is_any() { format!("{title}: {}", args.range.in_words()) } else { title }
}

/// The stacks of a tree by the names of their functions.
pub(super) fn graph(
    tree: &CallTree,
    processes: &[Process],
    stacks: impl Iterator<Item = (NodeId, u64)>,
    resolver: &Resolver,
    folds_recursion: bool,
    form: Form,
) -> FlameGraph {
    let (stacks, parts) = narrowed(tree, stacks.filter(|(_, width)| *width > 0).collect());
    if let Some(parts) = parts {
        let least = 100.0 / parts as f64;
        message::note(&format!(
            "the stacks are too deep to be drawn whole: calls of less than {least:.3} % are left out"
        ));
    }
    let names = NamedStacks::look_up(tree, stacks.iter().map(|(node, _)| *node), resolver);
    let labels = process_labels::labels(tree, processes, stacks.iter().map(|(node, _)| *node));
    let unknown = if parts.is_some() { "[unknown stacks and narrow calls]" } else { "[unknown stack]" };
    let mut graph = FlameGraph::default();
    for (node, width) in stacks {
        let calls = calls(node, &names, unknown, form);
        let calls = if folds_recursion { without_recursion(calls) } else { calls };
        let process = process_labels::process(tree, node).and_then(|process| labels.get(&process));
        let process = process.map(|label| Call { function: label.clone(), places: BTreeSet::new() });
        graph.add(process.into_iter().chain(calls).collect(), width);
    }
    graph
}

fn live_caption(snapshot: &Snapshot, of: Metric) -> Caption {
    let info = snapshot.process.info.clone().unwrap_or_default();
    let (what, unit) = if of == Metric::Count { ("Blocks live", "blocks") } else { ("Bytes live", "bytes") };
    let estimated = if snapshot.sampling.is_some() { " (estimated)" } else { "" };
    Caption { title: format!("{what}{estimated}"), command: command(&info.command), unit }
}

/// The calls of a stack, the outermost first, without its process.
fn calls(node: NodeId, names: &NamedStacks<'_>, unknown: &str, form: Form) -> Vec<Call> {
    if names.tree().is_unknown(node) {
        return vec![Call { function: unknown.to_owned(), places: BTreeSet::new() }];
    }
    let mut frames = names.frames(node);
    if process_labels::process(names.tree(), node).is_some() {
        frames.pop();
    }
    // What other tools read has every name, and whole.
    let is_picture = !matches!(form, Form::Folded);
    if is_picture && !are_full_names_shown() {
        frames.drain(..plumbing(&frames));
    }
    frames.reverse();
    let name = if is_picture { NamedFrame::shown_name } else { NamedFrame::name };
    let call =
        |frame: &NamedFrame| Call { function: name(frame), places: frame.place().into_iter().collect() };
    frames.iter().map(call).collect()
}

fn command(command: &[Vec<u8>]) -> String {
    command.iter().map(|part| lossy(part)).collect::<Vec<_>>().join(" ")
}
