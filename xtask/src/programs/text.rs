//! Whether a text is what the bare program writes, where not even that is the same each time: it is compared
//! in the strictest form in which all texts of the bare program are equal.

use std::collections::BTreeSet;

/// A form in which texts are compared, and what it leaves out.
struct Form {
    name: &'static str,
    of: fn(&[u8]) -> Vec<Vec<u8>>,
}

/// The strictest first.
const FORMS: [Form; 4] = [
    Form { name: "", of: lines },
    Form { name: "in any order", of: |text| sorted(lines(text)) },
    Form { name: "without numbers", of: without_numbers },
    Form { name: "without numbers, in any order", of: |text| sorted(without_numbers(text)) },
];

fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn sorted(mut lines: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    lines.sort();
    lines
}

/// Words that begin with a digit, as numbers, times and addresses do, are `#`.
fn without_numbers(text: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut before = b' ';
    for &byte in text {
        let continues = before == b'#' && (byte.is_ascii_alphanumeric() || byte == b'.');
        let begins = byte.is_ascii_digit() && !before.is_ascii_alphabetic();
        if continues {
            continue;
        }
        before = if begins { b'#' } else { byte };
        out.push(before);
    }
    lines(&out)
}

/// What came of a comparison.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    /// How it was compared, when not byte by byte.
    pub(super) form: String,
    pub(super) difference: Option<String>,
}

/// Holds `text` against all that the bare program wrote.
pub(super) fn compare(bares: &[&[u8]], text: &[u8]) -> Outcome {
    for form in &FORMS {
        let forms: Vec<_> = bares.iter().map(|bare| (form.of)(bare)).collect();
        if forms.windows(2).all(|pair| pair[0] == pair[1]) {
            let difference = parting(&forms[0], &(form.of)(text));
            return Outcome { form: form.name.to_owned(), difference };
        }
    }
    by_line(bares, text)
}

/// Only the lines are compared that all texts of the bare program have at the same place.
fn by_line(bares: &[&[u8]], text: &[u8]) -> Outcome {
    let bares: Vec<_> = bares.iter().map(|bare| without_numbers(bare)).collect();
    let text = without_numbers(text);
    let first = &bares[0];
    if bares.iter().any(|bare| bare.len() != first.len()) {
        return Outcome { form: "not compared, it is another each time".to_owned(), difference: None };
    }
    let same: BTreeSet<_> =
        (0..first.len()).filter(|&i| bares.iter().all(|bare| bare[i] == first[i])).collect();
    let only = |lines: &[Vec<u8>]| {
        same.iter().map(|&i| lines.get(i).cloned().unwrap_or_default()).collect::<Vec<_>>()
    };
    let form = format!("{} of {} lines", same.len(), first.len());
    Outcome { form, difference: parting(&only(first), &only(&text)) }
}

/// Where two texts part.
fn parting(bare: &[Vec<u8>], text: &[Vec<u8>]) -> Option<String> {
    let at = (0..bare.len().max(text.len())).find(|&i| bare.get(i) != text.get(i))?;
    Some(format!("line {} is {} instead of {}", at + 1, excerpt(text.get(at)), excerpt(bare.get(at))))
}

fn excerpt(line: Option<&Vec<u8>>) -> String {
    const CHARS: usize = 80;
    let Some(line) = line else { return "missing".to_owned() };
    let text = String::from_utf8_lossy(line);
    let shown: String = text.trim_end().chars().take(CHARS).collect();
    format!("`{}`", shown.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bares: &[&str], text: &str, form: &str, difference: Option<&str>) {
        let bares: Vec<_> = bares.iter().map(|bare| bare.as_bytes()).collect();
        let expected = Outcome { form: form.to_owned(), difference: difference.map(str::to_owned) };
        assert_eq!(compare(&bares, text.as_bytes()), expected, "{text}");
    }

    #[test]
    fn the_strictest_form_that_the_bare_program_keeps() {
        check(&["a\nb\n", "a\nb\n"], "a\nb\n", "", None);
        check(&["a\nb\n", "a\nb\n"], "b\na\n", "", Some("line 1 is `b` instead of `a`"));
        check(&["a\nb\n", "b\na\n"], "a\nb\n", "in any order", None);
        check(&["took 12 ms, 0x7f1", "took 9 ms, 0x55c"], "took 3.5 ms, 0x1", "without numbers", None);
        check(
            &["took 1 ms", "took 2 ms"],
            "lost 1 ms",
            "without numbers",
            Some("line 1 is `lost # ms` instead of `took # ms`"),
        );
        check(&["a\nx\nc\n", "a\ny\nc\n"], "a\nz\nc\n", "2 of 3 lines", None);
        check(&["a\nx\n", "a\ny\n"], "b\nx\n", "1 of 2 lines", Some("line 1 is `b` instead of `a`"));
        check(&["a\n", "b\nc\n"], "d\n", "not compared, it is another each time", None);
    }

    #[test]
    fn what_is_missing_at_the_end_is_a_difference() {
        check(&["a\n", "a\n"], "a", "", Some("line 1 is `a` instead of `a`"));
        check(&["a\n", "a\n"], "", "", Some("line 1 is missing instead of `a`"));
        check(&["v1 x9", "v1 x9"], "v1 x9\nb", "", Some("line 1 is `v1 x9` instead of `v1 x9`"));
    }
}
