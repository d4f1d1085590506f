//! `heapscribe flame`: draws who allocates as a flame graph, the width of a frame being what `--of` says.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use heapscribe_analyze::answer::{Amount, Answer, CallTree, NodeId};
use heapscribe_analyze::snapshot::{self, Snapshot};
use heapscribe_formats::detect::Format;
use inferno::flamegraph;

use super::{flame_go, partial};
use crate::cli::{FlameArgs, FlameOf};
use crate::text::tables;
use crate::trace_file;
use heapscribe_diagnostics::Problem;
use heapscribe_symbols::Resolver;
use heapscribe_symbols::{NamedStacks, lossy};

/// What the file's ending asks for.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Svg,
    Html,
    Folded,
}

/// Runs the command.
pub(crate) fn run(args: &FlameArgs) -> Result<ExitCode> {
    let form = form(&args.output)?;
    if trace_file::format(&args.trace)? == Format::Go {
        return flame_go::run(args, form);
    }
    if trace_file::format(&args.trace)? == Format::Heaplog {
        return Err(no_stacks(args).into());
    }
    let trace = trace_file::open(&args.trace, args.salvage)?;
    let resolver = crate::progress::resolver(&args.symbols.debug_dir.clone());
    if let Some(snapshot) = snapshot::analyze(&*trace).into_iter().next().filter(|s| s.is_for_itself()) {
        draw(args, form, &live_lines(&snapshot, args.of, &resolver), &live_caption(&snapshot, args.of))?;
        return Ok(partial::exit_code(&args.trace, &snapshot.problems, trace.is_complete()));
    }
    let answer = trace_file::analyze(&trace);
    let caption =
        Caption { title: title(&answer, args.of), command: command(&answer.command), unit: unit(args.of) };
    draw(args, form, &folded(&answer, args.of, &resolver), &caption)?;
    Ok(partial::exit_code(&args.trace, &answer.problems, trace.is_complete()))
}

/// What stands above a picture.
pub(super) struct Caption {
    pub(super) title: String,
    pub(super) command: String,
    pub(super) unit: &'static str,
}

/// Writes a picture in the form that was asked for.
pub(super) fn draw(args: &FlameArgs, form: Form, lines: &[String], caption: &Caption) -> Result<()> {
    if lines.is_empty() {
        return Err(nothing_to_draw(args).into());
    }
    let picture = match form {
        Form::Folded => lines.iter().flat_map(|line| [line.as_bytes(), b"\n"]).flatten().copied().collect(),
        Form::Svg => svg(caption, lines)?,
        Form::Html => html(caption, &svg(caption, lines)?)?,
    };
    let written = std::fs::write(&args.output, picture);
    written.with_context(|| format!("cannot write {}", args.output.display()))
}

fn form(path: &Path) -> Result<Form, Problem> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("svg") => Ok(Form::Svg),
        Some("html") => Ok(Form::Html),
        Some("folded") => Ok(Form::Folded),
        _ => Err(Problem::new(
            format!("{} does not say what to write", path.display()),
            "let its name end in .svg (a picture), .html (a page) or .folded (lines of text)",
        )),
    }
}

fn no_stacks(args: &FlameArgs) -> Problem {
    let shown = args.trace.display();
    Problem::new(
        format!("{shown} is a log of heaphook's, which has no stacks, so there is nothing to draw"),
        format!("draw the heap over its calls: heapscribe plot {shown} -o heap.svg"),
    )
}

fn nothing_to_draw(args: &FlameArgs) -> Problem {
    let what = match args.of {
        FlameOf::Peak | FlameOf::Allocated | FlameOf::Count => "no allocation",
        FlameOf::Leaked => "no leaked block",
        FlameOf::Temporary => "no temporary block",
    };
    Problem::new(
        format!("{} has {what}, so there is nothing to draw", args.trace.display()),
        format!("see what it has: heapscribe report {}", args.trace.display()),
    )
}

fn title(answer: &Answer, of: FlameOf) -> String {
    let title = match of {
        FlameOf::Peak => "Bytes held at the peak of the heap",
        FlameOf::Leaked => "Bytes never freed",
        FlameOf::Allocated => "Bytes allocated",
        FlameOf::Count => "Number of allocations",
        FlameOf::Temporary => "Blocks freed before the next allocation",
    };
    tables::estimated(answer, title)
}

pub(super) const fn unit(of: FlameOf) -> &'static str {
    match of {
        FlameOf::Peak | FlameOf::Leaked | FlameOf::Allocated => "bytes",
        FlameOf::Count => "allocations",
        FlameOf::Temporary => "blocks",
    }
}

/// `outer;inner 42`, one line for each different stack of names, sorted.
pub(crate) fn folded(answer: &Answer, of: FlameOf, resolver: &Resolver) -> Vec<String> {
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

/// The same of a snapshot: all that it has is what is live.
fn live_lines(snapshot: &Snapshot, of: FlameOf, resolver: &Resolver) -> Vec<String> {
    let is_count = of == FlameOf::Count;
    let width = |live: Amount| if is_count { live.blocks } else { live.bytes };
    let stacks = snapshot.stacks.iter().map(|stack| (stack.node, width(stack.live)));
    folded_lines(&snapshot.tree, stacks, resolver)
}

fn live_caption(snapshot: &Snapshot, of: FlameOf) -> Caption {
    let info = snapshot.process.info.clone().unwrap_or_default();
    let (what, unit) = if of == FlameOf::Count { ("Blocks live", "blocks") } else { ("Bytes live", "bytes") };
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

fn svg(caption: &Caption, lines: &[String]) -> Result<Vec<u8>> {
    let mut options = flamegraph::Options::default();
    options.title.clone_from(&caption.title);
    options.subtitle = Some(caption.command.clone());
    options.count_name = caption.unit.to_owned();
    options.name_type = "Function:".to_owned();
    options.colors = flamegraph::color::Palette::Basic(flamegraph::color::BasicPalette::Mem);
    options.deterministic = true;
    options.hash = true;
    let mut picture = Vec::new();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut picture)
        .context("cannot draw the flame graph")?;
    Ok(picture)
}

fn command(command: &[Vec<u8>]) -> String {
    command.iter().map(|part| lossy(part)).collect::<Vec<_>>().join(" ")
}

/// The picture within a page: nothing is fetched from anywhere.
fn html(caption: &Caption, svg: &[u8]) -> Result<Vec<u8>> {
    let start = svg.windows(4).position(|w| w == b"<svg").context("cannot draw the flame graph")?;
    let title = escape(&format!("{} - {}", caption.title, caption.command));
    let mut page = Vec::with_capacity(svg.len() + 512);
    write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>"
    )?;
    write!(page, "\n<style>body {{ margin: 0 }} svg {{ width: 100% }}</style>\n</head>\n<body>\n")?;
    page.extend_from_slice(&svg[start..]);
    page.extend_from_slice(b"\n</body>\n</html>\n");
    Ok(page)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
