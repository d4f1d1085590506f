//! Flame graphs as files: a picture, a page, or lines for other tools.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use inferno::flamegraph;

use crate::cli::{FlameArgs, Metric};
use heapscribe_diagnostics::Problem;

/// The format, by the extension of the file.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Svg,
    Html,
    Folded,
}

/// The text above a flame graph.
pub(super) struct Caption {
    pub(super) title: String,
    pub(super) command: String,
    pub(super) unit: &'static str,
}

/// Writes a flame graph.
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

/// The format for a file name.
pub(super) fn form(path: &Path) -> Result<Form, Problem> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("svg") => Ok(Form::Svg),
        Some("html") => Ok(Form::Html),
        Some("folded") => Ok(Form::Folded),
        _ => Err(Problem::new(
            format!("cannot tell the format from the name {}", path.display()),
            "use the extension .svg, .html or .folded",
        )),
    }
}

fn nothing_to_draw(args: &FlameArgs) -> Problem {
    let what = match args.metric {
        Metric::Peak | Metric::Allocated | Metric::Count => "no allocations",
        Metric::Leaked => "no leaked blocks",
        Metric::Temporary => "no temporary blocks",
    };
    Problem::new(
        format!("nothing to draw: {} has {what}", args.trace.display()),
        format!("see what it contains: heapscribe report {}", args.trace.display()),
    )
}

/// What the width of a frame counts.
pub(super) const fn unit(of: Metric) -> &'static str {
    match of {
        Metric::Peak | Metric::Leaked | Metric::Allocated => "bytes",
        Metric::Count => "allocations",
        Metric::Temporary => "blocks",
    }
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

/// The SVG inside a self-contained HTML page.
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
