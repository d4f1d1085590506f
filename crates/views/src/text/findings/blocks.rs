//! Findings as lines of text: a sentence, whom it is about, what to try.

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

/// Words, and commands between backticks as one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for part in text.split(' ').filter(|part| !part.is_empty()) {
        match words.last_mut().filter(|_| is_open) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
