//! Flame graphs as files: a picture, a page, or lines for other tools.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use inferno::flamegraph::{self, Direction};

use super::flame_graph::FlameGraph;
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
pub(super) fn draw(args: &FlameArgs, form: Form, graph: &FlameGraph, caption: &Caption) -> Result<()> {
    if graph.is_empty() {
        return Err(nothing_to_draw(args).into());
    }
    let picture = match form {
        Form::Folded => graph.lines().iter().map(|line| line.clone() + "\n").collect::<String>().into_bytes(),
        Form::Svg => svg(caption, graph)?.into_bytes(),
        Form::Html => html(caption, &svg(caption, graph)?)?,
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
    let what = match args.metric() {
        _ if args.is_pinned() => "no nearly empty pages",
        Metric::Peak | Metric::Allocated | Metric::Count => "no allocations",
        Metric::Leaked => "no leaked blocks",
        Metric::Temporary => "no temporary blocks",
    };
    let range = if args.range.is_any() { format!(" ({})", args.range.in_words()) } else { String::new() };
    Problem::new(
        format!("nothing to draw: {} has {what}{range}", args.trace.display()),
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

/// Calls that fit on a screen with the outermost at the bottom; of deeper graphs it is on top, because a page opens
/// there.
const UPRIGHT_CALLS_MAX: usize = 40;

fn svg(caption: &Caption, graph: &FlameGraph) -> Result<String> {
    let is_inverted = graph.depth() > UPRIGHT_CALLS_MAX;
    let mut options = flamegraph::Options::default();
    options.title.clone_from(&caption.title);
    options.subtitle = Some(caption.command.clone());
    options.count_name = caption.unit.to_owned();
    options.name_type = "Function:".to_owned();
    options.colors = flamegraph::color::Palette::Basic(flamegraph::color::BasicPalette::Mem);
    options.deterministic = true;
    options.hash = true;
    // It takes lines in their order then, the last first. Elsewhere it wants the order of their bytes, which tears stacks
    // apart: `f;g 1` is behind `f.cold 2`.
    options.flame_chart = true;
    options.text_truncate_direction = flamegraph::TextTruncateDirection::Right;
    options.direction = if is_inverted { Direction::Inverted } else { Direction::Straight };
    let mut picture = Vec::new();
    let lines = graph.lines();
    flamegraph::from_lines(&mut options, lines.iter().rev().map(String::as_str), &mut picture)
        .context("cannot draw the flame graph")?;
    let picture = String::from_utf8(picture).context("cannot draw the flame graph")?;
    Ok(graph.with_places(&picture, is_inverted))
}

/// The SVG inside a self-contained HTML page.
fn html(caption: &Caption, svg: &str) -> Result<Vec<u8>> {
    let start = svg.find("<svg").context("cannot draw the flame graph")?;
    let title = escape(&format!("{} - {}", caption.title, caption.command));
    let mut page = Vec::with_capacity(svg.len() + 512);
    write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>"
    )?;
    write!(page, "\n<style>body {{ margin: 0 }} svg {{ width: 100% }}</style>\n</head>\n<body>\n")?;
    page.extend_from_slice(&svg.as_bytes()[start..]);
    page.extend_from_slice(b"\n</body>\n</html>\n");
    Ok(page)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::flame_graph::Call;
    use super::*;

    /// A picture of `main` and so many calls below it, and where `main` is drawn.
    fn picture(calls: usize) -> (String, u64) {
        let call = |n| Call {
            function: if n == 0 { "main".to_owned() } else { format!("std::function<void ({n})>") },
            places: [format!("shop<{n}>.c:{n}")].into(),
        };
        let mut graph = FlameGraph::default();
        graph.add((0..=calls).map(call).collect(), 1000);
        graph.add(vec![call(0), call(1)], 24);
        let caption = Caption { title: "Bytes".to_owned(), command: "./shop".to_owned(), unit: "bytes" };
        let picture = svg(&caption, &graph).unwrap();
        let title = "<title>main (1,024 bytes, 100.00%; shop&lt;0&gt;.c:0)</title>";
        let (_, main) = picture.split_once(title).unwrap_or_else(|| panic!("{picture}"));
        let y = main.split_once(" y=\"").and_then(|(_, y)| y.split_once('"')).map(|(y, _)| y.parse());
        (picture, y.unwrap().unwrap())
    }

    #[test]
    fn the_outermost_call_is_on_the_first_screen() {
        const SCREEN: u64 = 800;
        for (calls, is_inverted) in [(2, false), (UPRIGHT_CALLS_MAX - 1, false), (200, true)] {
            let (picture, y) = picture(calls);
            assert!(picture.contains(&format!("inverted = {is_inverted}")), "{calls}");
            assert!(y < SCREEN, "{calls}: {y}");
        }
    }

    #[test]
    fn tooltips_have_places_and_labels_keep_their_beginning() {
        let (picture, _) = picture(3);
        for tooltip in
            ["(1) (1,024 bytes, 100.00%; shop&lt;1&gt;.c:1)", "(3) (1,000 bytes, 97.66%; shop&lt;3&gt;.c:3)"]
        {
            let tooltip = tooltip.split_at(3);
            let title = format!("<title>std::function&lt;void {}&gt;{}</title>", tooltip.0, tooltip.1);
            assert!(picture.contains(&title), "{title} {picture}");
        }
        assert!(picture.contains("truncate_text_right = true"));
    }

    /// By their bytes `load 1`, `load.cold 2` and `load;parse 4` follow each other, so that `load` would be torn apart.
    #[test]
    fn a_function_whose_name_goes_on_in_another_has_one_box() {
        let mut graph = FlameGraph::default();
        for (names, width) in [("load", 1), ("load;parse", 4), ("load.cold", 2), ("load.cold;parse", 8)] {
            let call = |name: &str| Call { function: name.to_owned(), places: [name.to_owned()].into() };
            graph.add(names.split(';').map(call).collect(), width);
        }
        let caption = Caption { title: "Bytes".to_owned(), command: "./shop".to_owned(), unit: "bytes" };
        let picture = svg(&caption, &graph).unwrap();
        for title in ["load (5 bytes, 33.33%; load)", "load.cold (10 bytes, 66.67%; load.cold)"] {
            assert_eq!(picture.matches(&format!("<title>{title}</title>")).count(), 1, "{title} {picture}");
        }
    }
}
