//! Lines that fit the columns of whoever reads them. What adapts by itself - stacks, findings, the chart - has lines that
//! fit already; all others are broken between words here, once, behind everything that prints. Bars get shorter, all of a
//! table alike. Commands to copy, and words that are longer than a line, stay whole.

use std::io::{self, Write};

use super::findings::is_of_number;

/// What a line begins with that is one command or one name.
const WHOLE: [&str; 3] = ["Heap of: ", "heapscribe ", "heapscribe: next: "];
/// Columns by which the rest of a line is indented further.
const INDENT: usize = 2;

/// The lines of one line.
pub fn fit(line: &str, columns: usize) -> Vec<String> {
    let is_whole = || WHOLE.iter().any(|begin| line.trim_start().starts_with(begin));
    if width(line) <= columns || is_whole() {
        return vec![line.to_owned()];
    }
    match with_shorter_bar(line, columns) {
        Some(line) => vec![line],
        None => broken(line, columns),
    }
}

/// A line that ends with a bar of `#`, where its other columns leave room for one.
fn with_shorter_bar(line: &str, columns: usize) -> Option<String> {
    /// Columns that the longest bar has where there is room.
    const BAR: usize = 20;
    let before = line.trim_end_matches('#');
    let bar = line.len() - before.len();
    let room = columns.checked_sub(width(before)).filter(|room| *room > 0)?;
    (0 < bar && bar <= BAR && before.ends_with(' '))
        .then(|| format!("{before}{}", "#".repeat((bar * room.min(BAR)).div_ceil(BAR))))
}

fn broken(line: &str, columns: usize) -> Vec<String> {
    let begin = line.len() - line.trim_start().len();
    let (first, rest) = (&line[..begin], &line[begin..]);
    let mut indent = begin + INDENT;
    let mut lines = vec![first.to_owned()];
    let mut is_begun = false;
    for (n, (gap, word)) in words(rest).into_iter().enumerate() {
        let last = lines.last_mut().expect("there is one line at least");
        if is_begun && width(last) + gap.len() + width(&word) > columns {
            lines.push(format!("{:indent$}{word}", ""));
        } else {
            last.push_str(gap);
            // What stands behind the number of an entry is below each other.
            if n == 1 && is_rank(last.trim()) {
                indent = width(last);
            }
            last.push_str(&word);
            is_begun = true;
        }
    }
    lines
}

fn is_rank(word: &str) -> bool {
    word.strip_suffix('.').is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Words with the blanks before them; commands between backticks are one, and so are numbers with their units.
fn words(text: &str) -> Vec<(&str, String)> {
    let mut words: Vec<(&str, String)> = Vec::new();
    let mut is_open = false;
    let mut rest = text;
    while !rest.is_empty() {
        let (gap, behind) = rest.split_at(rest.len() - rest.trim_start_matches(' ').len());
        let (word, next) = behind.split_at(behind.find(' ').unwrap_or(behind.len()));
        let is_joined = |(_, last): &&mut (&str, String)| gap == " " && (is_open || is_of_number(last, word));
        match words.last_mut().filter(is_joined) {
            Some((_, last)) => {
                last.push_str(gap);
                last.push_str(word);
            }
            None => words.push((gap, word.to_owned())),
        }
        is_open ^= word.matches('`').count() % 2 == 1;
        rest = next;
    }
    words
}

/// Columns of a text, of which codes for colours take none.
fn width(text: &str) -> usize {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().chars().count();
    let behind_code = |part: &str| part.find(|c: char| c.is_ascii_alphabetic()).map_or(0, |at| at + 1);
    first + parts.map(|part| part[behind_code(part)..].chars().count()).sum::<usize>()
}

/// An output whose lines fit.
pub struct Fitted<W: Write> {
    out: W,
    columns: usize,
    /// A line whose end was not written yet.
    line: Vec<u8>,
}

impl<W: Write> Fitted<W> {
    /// One with so many columns.
    pub fn new(out: W, columns: usize) -> Fitted<W> {
        Fitted { out, columns, line: Vec::new() }
    }
}

impl<W: Write> Write for Fitted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if let Some(line) = self.line.strip_suffix(b"\n") {
                let lines = fit(&String::from_utf8_lossy(line), self.columns);
                lines.iter().try_for_each(|line| writeln!(self.out, "{line}"))?;
                self.line.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&std::mem::take(&mut self.line))?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(line: &str, columns: usize, expected: &[&str]) {
        assert_eq!(fit(line, columns), expected, "{line}");
    }

    #[test]
    fn lines_are_broken_between_words() {
        check("It fits.", 8, &["It fits."]);
        check("  Never freed: 10 KiB in 3 blocks.", 22, &["  Never freed: 10 KiB", "    in 3 blocks."]);
        check(
            "   1. 35.8 %: 12 bytes in 7 blocks",
            20,
            &["   1. 35.8 %:", "      12 bytes in", "      7 blocks"],
        );
        check("\x1b[1mWho held most\x1b[0m", 8, &["\x1b[1mWho held", "  most\x1b[0m"]);
        check("a  b   c", 6, &["a  b", "  c"]);
    }

    #[test]
    fn commands_and_long_words_stay_whole() {
        let command = "  heapscribe flame a.hst -o peak.svg";
        check(command, 20, &[command]);
        check("see `perf record -g` there", 10, &["see", "  `perf record -g`", "  there"]);
        check("  /usr/lib/libabc.so is new", 10, &["  /usr/lib/libabc.so", "    is new"]);
    }

    #[test]
    fn bars_get_shorter_alike() {
        check("  1 to 2  50 % ####################", 25, &["  1 to 2  50 % ##########"]);
        check("  1 to 2   5 % ##", 16, &["  1 to 2   5 % #"]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_line_is_longer_than_its_words(
            words in prop::collection::vec("[a-z#.`]{1,9}|[0-9]{1,3} B|\x1b\\[1m", 0..20), columns in 20..40_usize)
        {
            let line = words.join(" ");
            let lines = fit(&line, columns);
            let mut out = Vec::new();
            {
                let mut fitted = Fitted::new(&mut out, columns);
                // In two parts, as a buffer may give it.
                let (first, second) = line.split_at(line.len() / 2);
                write!(fitted, "{first}").unwrap();
                writeln!(fitted, "{second}").unwrap();
            }
            prop_assert_eq!(String::from_utf8(out).unwrap(), lines.join("\n") + "\n");
            let plain = |text: &str| text.replace(['#', ' ', '\n'], "");
            prop_assert_eq!(plain(&lines.join("")), plain(&line));
            let is_fitting = |line: &String| {
                width(line) <= columns || !line.trim_start().contains(' ') || line.contains('`')
            };
            prop_assert!(lines.iter().all(is_fitting), "{lines:?}");
        }
    }
}
