//! A text cut to a screen: what is missing and what to type next stay, and what does not fit is counted.

use super::brief::LINES;
use heapscribe_units::counted;

/// Lines at the end that stay, at most.
const TAIL: usize = 15;

/// The lines of a text, no more than a screen.
pub fn screen(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= LINES {
        return lines.into_iter().map(str::to_owned).collect();
    }
    let last = |is_it: fn(&&str) -> bool| lines.iter().rposition(is_it);
    let is_limit =
        |line: &&str| line.contains("What is missing") || line.contains("What this file cannot answer");
    let missing = last(is_limit).map(|at| at.saturating_sub(1));
    // The empty line before the heading; where nothing is missing, before the last one.
    let tail = missing.or_else(|| last(|line| line.is_empty())).unwrap_or(0).max(lines.len() - TAIL);
    let head = LINES - (lines.len() - tail) - 1;
    let more = format!("  ... {} (see --full)", counted((tail - head) as u64, "more line"));
    let all = lines[..head].iter().copied().chain([more.as_str()]).chain(lines[tail..].iter().copied());
    all.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_stays() {
        let of = |n: usize| (1..=n).map(|n| format!("line {n}\n")).collect::<String>();
        assert_eq!(screen(&of(50)).len(), 50);
        let text = of(80) + "\nWhat is missing\n  Nothing.\n\nNext\n  type this\n";
        let lines = screen(&text);
        assert_eq!(lines.len(), 50);
        assert_eq!(
            lines[42..].join("|"),
            "line 43|  ... 37 more lines (see --full)||What is missing|  Nothing.||Next|  type this"
        );
        assert_eq!(screen(&of(500)).len(), 50);
        let text = of(80) + "\nNext\n  type this\n";
        assert_eq!(screen(&text)[46..].join("|"), "  ... 34 more lines (see --full)||Next|  type this");
    }
}
