//! Verdicts as lines that a build server picks out of a log: annotations for GitHub, which stand beside the line of
//! source in a pull request, and measurements for CTest, which CDash draws over time. A broken rule is an error,
//! one that the trace cannot tell of a warning.

use std::path::Path;

use heapscribe_analyze::answer::NodeId;
use heapscribe_symbols::{NamedFrame, NamedStacks};

use crate::check::{Checked, Finding, Reason, Verdict};
use crate::own::{is_library, is_wrapper};
use crate::text::check::{figures, frames, line};

/// GitHub shows ten annotations of a step, and drops the rest: one for the worst stack of each finding.
const ANNOTATIONS: usize = 10;
/// Frames of a stack in the text of an annotation.
const FRAMES: usize = 8;

/// The annotations of GitHub's: `::error file=src/a.c,line=12,title=max-leaked 0 B::...`. Files below `root` are
/// named as the repository has them, others not at all: GitHub knows no other.
pub fn github(checked: &Checked, names: &NamedStacks<'_>, root: &Path) -> String {
    let is_wrong = |finding: &&Finding| finding.verdict != Verdict::Holds;
    let mut wrong: Vec<&Finding> = checked.findings.iter().filter(is_wrong).collect();
    wrong.sort_by_key(|finding| finding.verdict != Verdict::Broken);
    let all: Vec<(&Finding, Option<&Reason>)> = wrong.into_iter().flat_map(parts).collect();
    let shown = all.iter().take(ANNOTATIONS);
    let mut lines: Vec<String> =
        shown.map(|(finding, reason)| annotation(checked, finding, *reason, names, root)).collect();
    if let Some(more) = all.len().checked_sub(ANNOTATIONS).filter(|more| *more > 0) {
        lines.push(format!("::notice title=heapscribe check::{more} more findings are in the log"));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Of a rule that forbids findings each of them, as each is at a line of its own.
fn parts(finding: &Finding) -> Vec<(&Finding, Option<&Reason>)> {
    match &finding.reasons[..] {
        [] => vec![(finding, None)],
        reasons => reasons.iter().map(|reason| (finding, Some(reason))).collect(),
    }
}

fn annotation(
    checked: &Checked,
    finding: &Finding,
    reason: Option<&Reason>,
    names: &NamedStacks<'_>,
    root: &Path,
) -> String {
    let level = if finding.verdict == Verdict::Broken { "error" } else { "warning" };
    let worst = reason.map_or(finding.culprits.first(), |reason| reason.culprit.as_ref());
    let place = worst.and_then(|culprit| place(names, culprit.stack, root));
    let place = place.map_or(String::new(), |(file, line)| format!("file={},line={line},", property(&file)));
    let title = property(&format!("heapscribe: {}", finding.rule.shown()));
    format!("::{level} {place}title={title}::{}", text(&message(checked, finding, reason, names)))
}

/// The verdict, why, and the worst stack.
fn message(checked: &Checked, finding: &Finding, reason: Option<&Reason>, names: &NamedStacks<'_>) -> String {
    let worst = reason.map_or(finding.culprits.first(), |reason| reason.culprit.as_ref());
    let mut lines = match reason {
        Some(reason) => vec![reason.line(), format!("Try: {}", reason.remedy)],
        None => vec![one_line(checked, finding)],
    };
    lines.extend(finding.why.iter().cloned());
    if let Some(culprit) = worst {
        lines.push(figures(checked, finding, culprit).trim().to_owned());
        lines.extend(frames(names, culprit.stack).into_iter().take(FRAMES).map(|frame| format!("  {frame}")));
    }
    lines.join("\n")
}

/// The innermost line of a stack that is the program's own, where the repository has it.
fn place(names: &NamedStacks<'_>, stack: NodeId, root: &Path) -> Option<(String, u32)> {
    let frames = if stack == NodeId::ROOT { Vec::new() } else { names.frames(stack) };
    let in_repository = |frame: &NamedFrame| {
        let file = Path::new(frame.file.as_deref()?);
        let below = if file.is_absolute() { file.strip_prefix(root).ok()? } else { file };
        Some((below.to_str()?.to_owned(), frame.line.filter(|line| *line > 0)?))
    };
    frames.iter().filter(|frame| !is_library(frame) && !is_wrapper(frame)).find_map(in_repository)
}

/// What GitHub's runner undoes in a message.
fn text(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// And in a property.
fn property(name: &str) -> String {
    text(name).replace(':', "%3A").replace(',', "%2C")
}

/// The line of the text, without its columns.
fn one_line(checked: &Checked, finding: &Finding) -> String {
    line(checked, finding).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The measurements of CTest's, a line for each figure that was found: CTest takes them out of what a test prints.
pub fn ctest(checked: &Checked) -> String {
    let with_figure = checked.findings.iter().filter_map(|finding| Some((finding, finding.found?)));
    let measurement = |(finding, figure): (&Finding, heapscribe_analyze::estimate::Figure)| {
        let name = xml(&format!("{} of {}", finding.rule.shown(), checked.whose(finding)));
        let unit = finding.unit.name();
        let value = figure.value;
        format!(
            "<CTestMeasurement type=\"numeric/double\" name=\"{name} ({unit})\">{value}</CTestMeasurement>\n"
        )
    };
    let failed = checked.findings.iter().filter(|finding| finding.verdict != Verdict::Holds);
    let details: Vec<String> = failed.map(|finding| one_line(checked, finding)).collect();
    let summary = if details.is_empty() { "all rules hold".to_owned() } else { xml(&details.join("\n")) };
    let figures: String = with_figure.map(measurement).collect();
    format!("{figures}<CTestDetails>{summary}</CTestDetails>\n")
}

/// Text in CTest's elements; control characters, which XML does not have, are left out.
fn xml(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_runner_would_take_for_its_own_is_escaped() {
        assert_eq!(text("100 %\r\nof: a, b"), "100 %25%0D%0Aof: a, b");
        assert_eq!(property("a:b,c\n%3A"), "a%3Ab%2Cc%0A%253A");
        assert_eq!(xml("vector<int>\u{1b}[m & \"x\"\n"), "vector&lt;int&gt;[m &amp; &quot;x&quot;\n");
    }
}
