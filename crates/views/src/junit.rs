//! Verdicts as JUnit's XML, in the part of it that Jenkins, GitLab and GitHub's actions all read: a suite with a
//! case for each rule and process. A broken rule is a `failure`; one that the trace cannot tell of is an
//! `error`, so that it does not pass for kept. Names have no pids, so that a case is the same one each time.

use std::io;

use heapscribe_analyze::answer::NodeId;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use crate::check::{Checked, Finding, Verdict};
use crate::text::check::{figures, found, frames, line, of_runtime, suppression};
use heapscribe_symbols::NamedStacks;

/// The whole document.
pub fn document(checked: &Checked, names: &NamedStacks<'_>) -> io::Result<Vec<u8>> {
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let count = |verdict| checked.count(verdict).to_string();
    let (failures, errors) = (count(Verdict::Broken), count(Verdict::Undecided));
    let tests = checked.findings.len().to_string();
    let totals = [("tests", &*tests), ("failures", &*failures), ("errors", &*errors), ("time", "0")];
    let (name, host, date) = (clean(&checked.trace), clean(&checked.host), timestamp(checked.begin_real_ns));
    let mut suite = xml.create_element("testsuites").with_attribute(("name", "heapscribe check"));
    suite = suite.with_attributes(totals);
    suite.write_inner_content(|xml| {
        let mut suite = xml.create_element("testsuite").with_attribute(("name", &*name));
        suite = suite.with_attributes(totals).with_attribute(("skipped", "0"));
        let known = [("hostname", &*host), ("timestamp", &*date)];
        suite = suite.with_attributes(known.into_iter().filter(|(_, value)| !value.is_empty()));
        let content = |xml: &mut Writer<Vec<u8>>| {
            checked.findings.iter().try_for_each(|finding| case(xml, checked, finding, names))?;
            suppressions(xml, checked)
        };
        suite.write_inner_content(content)?;
        Ok(())
    })?;
    let mut document = xml.into_inner();
    document.push(b'\n');
    Ok(document)
}

/// A rule in a process.
fn case(
    xml: &mut Writer<Vec<u8>>,
    checked: &Checked,
    finding: &Finding,
    names: &NamedStacks<'_>,
) -> io::Result<()> {
    let whose = clean(&checked.whose(finding));
    let name = clean(&finding.rule.shown());
    let attributes = [("classname", &*whose), ("name", &*name), ("time", "0")];
    let case = xml.create_element("testcase").with_attributes(attributes);
    let element = match finding.verdict {
        Verdict::Holds => return case.write_empty().map(|_| ()),
        Verdict::Broken => "failure",
        Verdict::Undecided => "error",
    };
    let rule = clean(&finding.rule.name());
    let message = clean(&message(finding));
    let text = clean(&details(checked, finding, names));
    let content = |xml: &mut Writer<Vec<u8>>| {
        let attributes = [("message", &*message), ("type", &*rule)];
        xml.create_element(element).with_attributes(attributes).write_text_content(BytesText::new(&text))?;
        Ok(())
    };
    case.write_inner_content(content)?;
    Ok(())
}

/// One line.
fn message(finding: &Finding) -> String {
    let why = if finding.verdict == Verdict::Undecided { finding.why.join("; ") } else { String::new() };
    let found = found(finding);
    let found = found.trim_start_matches(": ");
    if why.is_empty() { found.to_owned() } else { format!("{}: {why}", finding.verdict.name()) }
}

/// The line of the text, and the stacks.
fn details(checked: &Checked, finding: &Finding, names: &NamedStacks<'_>) -> String {
    let mut lines = vec![line(checked, finding)];
    lines.extend(finding.remarks().iter().map(|remark| format!("  {remark}")));
    for culprit in &finding.culprits {
        lines.push(figures(checked, finding, culprit));
        let unknown = || vec!["unknown stack".to_owned()];
        let frames = if culprit.stack == NodeId::ROOT { unknown() } else { frames(names, culprit.stack) };
        lines.extend(frames.into_iter().map(|frame| format!("    {frame}")));
    }
    lines.join("\n")
}

fn suppressions(xml: &mut Writer<Vec<u8>>, checked: &Checked) -> io::Result<()> {
    let all = &checked.suppressions.all;
    let of_file = all.iter().map(|one| format!("line {}: {}", one.line, suppression(one)));
    let lines: Vec<_> = of_runtime(checked).into_iter().chain(of_file).collect();
    if lines.is_empty() {
        return Ok(());
    }
    let text = clean(&lines.join("\n"));
    xml.create_element("system-out").write_text_content(BytesText::new(&text))?;
    Ok(())
}

/// XML 1.0 has no place for most control characters, not even escaped; names of functions and threads are any
/// bytes.
fn clean(text: &str) -> String {
    let is_char =
        |c: char| matches!(c, '\t' | '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    text.chars().map(|c| if is_char(c) { c } else { '\u{fffd}' }).collect()
}

/// `2026-11-21T10:15:00`, nothing when it is not known.
fn timestamp(real_ns: u64) -> String {
    if real_ns == 0 {
        return String::new();
    }
    heapscribe_units::date(real_ns).trim_end_matches(" UTC").replace(' ', "T")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_xml_does_not_have_are_replaced() {
        assert_eq!(
            clean("a\0b\u{1b}[0m\r\n\tü\u{fffe}\u{10ffff}"),
            "a\u{fffd}b\u{fffd}[0m\u{fffd}\n\tü\u{fffd}\u{10ffff}"
        );
        assert_eq!(timestamp(1_795_256_100_000_000_000), "2026-11-21T10:15:00");
    }
}
