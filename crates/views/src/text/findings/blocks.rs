//! Findings as lines of text: a sentence, whom it is about, what to try.

use heapscribe_units::about;

use super::describe::Described;

/// Columns before a line of a finding that is not its first.
const INDENT: usize = 5;

/// The lines of each finding, the worst first.
pub fn blocks(findings: &[Described], width: usize) -> Vec<Vec<String>> {
    let mut shown: Vec<String> = Vec::new();
    let mut blocks = Vec::new();
    for (number, finding) in (1..).zip(findings) {
        let who = finding.culprits.first().map(|(_, who)| who.line(width.saturating_sub(INDENT)));
        let is_new = who.as_ref().is_some_and(|who| !shown.contains(who));
        blocks.push(block(number, finding, who.as_ref().filter(|_| is_new), width));
        shown.extend(who);
    }
    blocks
}

/// Whom it is about stands there once.
fn block(number: usize, described: &Described, who: Option<&String>, width: usize) -> Vec<String> {
    let finding = &described.finding;
    let (kind, severity, confidence) =
        (finding.kind.name(), finding.severity.name(), finding.confidence.name());
    let title = format!("{number:>3}. {kind} ({severity}; confidence: {confidence}): {}", described.summary);
    let mut lines = wrapped(&title, width, INDENT);
    lines.extend(who.map(|who| format!("{:INDENT$}{who}", "")));
    lines.extend(wrapped(&format!("{:INDENT$}Try: {}", "", described.remedy), width, INDENT));
    lines
}

/// A text in lines of so many columns; all but the first are indented. A word that is longer has a line of its own, and
/// what stands between backticks is one word, so that it can be copied.
pub fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let begin = text.len() - text.trim_start().len();
    let mut lines = vec![text[..begin].to_owned()];
    let mut is_first = true;
    for word in words(text.trim_start()) {
        let last = lines.last_mut().expect("there is one line at least");
        let columns = last.chars().count() + usize::from(!is_first) + word.chars().count();
        if !is_first && columns > width {
            lines.push(format!("{:indent$}{word}", ""));
        } else {
            if !is_first {
                last.push(' ');
            }
            last.push_str(&word);
        }
        is_first = false;
    }
    lines
}

/// What stands behind a number and is not parted from it.
const UNITS: [&str; 17] = [
    "%", "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "byte", "bytes", "block", "blocks", "ns", "us", "ms",
    "s", "h",
];

/// Words; commands between backticks are one, and so are numbers with their units.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for part in text.split(' ').filter(|part| !part.is_empty()) {
        let is_joined = |last: &String| is_open || is_of_number(last, part);
        match words.last_mut().filter(|last| is_joined(last)) {
            Some(last) => {
                last.push(' ');
                last.push_str(part);
            }
            None => words.push(part.to_owned()),
        }
        is_open ^= part.matches('`').count() % 2 == 1;
    }
    words
}

/// Whether a word is the unit of the number before it, or the number behind a mark of estimates.
pub(in crate::text) fn is_of_number(before: &str, word: &str) -> bool {
    let unit = word.trim_end_matches([',', ';', ':', '.', ')']);
    let is_number = before.ends_with(|c: char| c.is_ascii_digit());
    is_number && UNITS.contains(&unit) || before.ends_with(about())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_units() {
        assert_eq!(
            wrapped("main held 10.0 MiB in 1 block, 93.1 %", 17, 2),
            ["main held", "  10.0 MiB in", "  1 block, 93.1 %"]
        );
        assert_eq!(wrapped("It took about 4 s.", 16, 2), ["It took about", "  4 s."]);
    }

    #[test]
    fn commands_are_not_broken() {
        let text = "  1. Free it; `heapscribe flame run.hst -o a.svg` shows who.";
        assert_eq!(
            wrapped(text, 30, 5),
            ["  1. Free it;", "     `heapscribe flame run.hst -o a.svg`", "     shows who."]
        );
        assert_eq!(wrapped("", 30, 5), [""]);
    }
}
