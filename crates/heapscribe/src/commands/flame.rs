//! `heapscribe flame`: draws flame graphs; `--metric` chooses the width of a frame.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use heapscribe_analyze::answer::{Amount, Answer, CallTree, NodeId};
use heapscribe_analyze::snapshot::{self, Snapshot};

use super::flame_picture::{Caption, draw, form, unit};
use super::{flame_go, partial};
use crate::cli::{FlameArgs, Metric};
use heapscribe_convert::{Input, Kind};
use heapscribe_diagnostics::Problem;
use heapscribe_formats::detect::Format;
use heapscribe_symbols::Resolver;
use heapscribe_symbols::{NamedStacks, lossy};
use heapscribe_views::text::tables;

/// Runs the command.
pub(crate) fn run(args: &FlameArgs) -> Result<ExitCode> {
    let form = form(&args.output)?;
    let input = Input::open(&args.trace)?;
    match input.kind() {
        Kind::File(Format::Go) => {
            args.choice.reject(&args.trace, "a Go trace")?;
            return flame_go::run(args, input, form);
        }
        Kind::File(Format::Heaplog) => return Err(no_stacks(args).into()),
        _ => {}
    }
    let trace = input.into_trace(args.salvage.into())?;
    let resolver = crate::progress::resolver(&args.symbols.debug_dir);
    if let Some(snapshot) = snapshot::analyze(&*trace).into_iter().next().filter(|s| s.is_for_itself()) {
        args.choice.reject(&args.trace, "a snapshot")?;
        draw(
            args,
            form,
            &live_lines(&snapshot, args.metric, &resolver),
            &live_caption(&snapshot, args.metric),
        )?;
        return Ok(partial::exit_code(&args.trace, &snapshot.problems, trace.is_complete()));
    }
    let answer = trace.analyze_of(&args.choice.choice())?;
    let caption = Caption {
        title: title(&answer, args.metric),
        command: command(&answer.command),
        unit: unit(args.metric),
    };
    draw(args, form, &folded(&answer, args.metric, &resolver), &caption)?;
    Ok(partial::exit_code(&args.trace, &answer.problems, trace.is_complete()))
}

fn no_stacks(args: &FlameArgs) -> Problem {
    let shown = args.trace.display();
    Problem::new(
        format!("{shown} is a heaphook log, which has no stacks to draw"),
        format!("plot the heap instead: heapscribe plot {shown} -o heap.svg"),
    )
}

fn title(answer: &Answer, of: Metric) -> String {
    let title = match of {
        Metric::Peak => "Bytes live at the peak of the heap",
        Metric::Leaked => "Bytes never freed",
        Metric::Allocated => "Bytes allocated",
        Metric::Count => "Number of allocations",
        Metric::Temporary => "Blocks freed before the next allocation",
    };
    tables::estimated(answer, title)
}

/// `outer;inner 42`, one line for each different stack of names, sorted.
pub(crate) fn folded(answer: &Answer, of: Metric, resolver: &Resolver) -> Vec<String> {
    let stacks = answer.stacks.iter().map(|s| (s.node, of.measure().of(s)));
    folded_lines(&answer.tree, stacks, resolver)
}

fn folded_lines(
    tree: &CallTree,
    stacks: impl Iterator<Item = (NodeId, u64)>,
    resolver: &Resolver,
) -> Vec<String> {
    let stacks: Vec<_> = stacks.filter(|(_, width)| *width > 0).collect();
    let names = NamedStacks::look_up(tree, stacks.iter().map(|(node, _)| *node), resolver);
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for (node, width) in stacks {
        *lines.entry(path(node, &names)).or_default() += width;
    }
    lines.into_iter().map(|(path, width)| format!("{path} {width}")).collect()
}

/// The same for a snapshot, which has live blocks only.
fn live_lines(snapshot: &Snapshot, of: Metric, resolver: &Resolver) -> Vec<String> {
    let is_count = of == Metric::Count;
    let width = |live: Amount| if is_count { live.blocks } else { live.bytes };
    let stacks = snapshot.stacks.iter().map(|stack| (stack.node, width(stack.live)));
    folded_lines(&snapshot.tree, stacks, resolver)
}

fn live_caption(snapshot: &Snapshot, of: Metric) -> Caption {
    let info = snapshot.process.info.clone().unwrap_or_default();
    let (what, unit) = if of == Metric::Count { ("Blocks live", "blocks") } else { ("Bytes live", "bytes") };
    let estimated = if snapshot.sampling.is_some() { " (estimated)" } else { "" };
    Caption { title: format!("{what}{estimated}"), command: command(&info.command), unit }
}

fn path(node: NodeId, names: &NamedStacks<'_>) -> String {
    let frames = names.frames(node);
    if frames.is_empty() {
        return "[unknown stack]".to_owned();
    }
    // The format separates frames by semicolons and stacks by lines.
    let name = |f: &heapscribe_symbols::NamedFrame| f.name().replace(';', ":").replace('\n', " ");
    frames.iter().rev().map(name).collect::<Vec<_>>().join(";")
}

fn command(command: &[Vec<u8>]) -> String {
    command.iter().map(|part| lossy(part)).collect::<Vec<_>>().join(" ")
}
