//! Files of at most 400 lines, functions of at most 70. What is longer stands in a list that may only
//! shrink: no new entry without a reason, and an entry goes when it is no longer needed.

use super::code;
use super::tree::{File, Tree};

const FILE_LINES: usize = 400;
const FUNCTION_LINES: usize = 70;
/// An entry of a list may be this much above what it stands for.
const SLACK: usize = 40;

/// Files that are longer, and how long they may be.
const LONG_FILES: &[(&str, usize)] = &[];

/// Functions that are longer, as `path name`, and how long they may be.
const LONG_FUNCTIONS: &[(&str, usize)] = &[];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let mut found = judge("file", FILE_LINES, LONG_FILES, tree.ending(".rs").map(file_length).collect());
    let functions = tree.ending(".rs").flat_map(functions).collect();
    found.extend(judge("function", FUNCTION_LINES, LONG_FUNCTIONS, functions));
    found
}

fn file_length(file: &File) -> (String, usize) {
    (file.path.clone(), file.text().lines().count())
}

fn judge(what: &str, limit: usize, exempt: &[(&str, usize)], lengths: Vec<(String, usize)>) -> Vec<String> {
    let allowed = |name: &str| exempt.iter().find(|(exempt, _)| *exempt == name).map_or(limit, |(_, n)| *n);
    let too_long = lengths.iter().filter(|(name, n)| *n > allowed(name));
    let mut found: Vec<_> = too_long
        .map(|(name, n)| format!("{name}: {what} of {n} lines, at most {} are allowed", allowed(name)))
        .collect();
    for (name, most) in exempt {
        let is = lengths.iter().filter(|(n, _)| n == name).map(|(_, n)| *n).max().unwrap_or(0);
        if is <= limit {
            found.push(format!(
                "{name}: the exemption is no longer needed ({is} lines), take it off the list"
            ));
        } else if is + SLACK < *most {
            found.push(format!("{name}: is down to {is} lines, lower its exemption of {most}"));
        }
    }
    found
}

/// The functions of a file, as `path name`, and their lengths.
fn functions(file: &File) -> Vec<(String, usize)> {
    let code = code::only(file.text());
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = code[from..].find("fn ").map(|n| from + n) {
        from = at + 3;
        let in_word = code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let name: String = code[from..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if let Some(end) = body_end(&code[from..]).filter(|_| !in_word && !name.is_empty()) {
            let lines = code[at..from + end].matches('\n').count() + 1;
            found.push((format!("{} {name}", file.path), lines));
        }
    }
    found
}

/// Where the body that follows a function's name ends; none when it has no body.
fn body_end(code: &str) -> Option<usize> {
    let (mut round, mut curly) = (0i32, 0i32);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => round += 1,
            ')' | ']' => round -= 1,
            ';' if round == 0 && curly == 0 => return None,
            '{' => curly += 1,
            '}' if curly == 1 => return Some(at + 1),
            '}' => curly -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(source: &str) -> Vec<(String, usize)> {
        functions(&Tree::of(&[("a.rs", source)]).files[0])
    }

    fn named(names: &[(&str, usize)]) -> Vec<(String, usize)> {
        names.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
    }

    #[test]
    fn functions_are_measured_from_their_name_to_their_last_brace() {
        let source = "fn a() {}\nfn b(x: [u8; 4]) -> u8 {\n  if x[0] > 1 {\n  }\n  \"}\"\n}\ntrait T { fn c(); }\nlet f: fn (u8);\n";
        assert_eq!(lengths(source), named(&[("a.rs a", 1), ("a.rs b", 5)]));
    }

    #[test]
    fn lists_of_exemptions_only_shrink() {
        let lengths = named(&[("long", 90), ("short", 10), ("exempt", 85), ("less", 71)]);
        let found =
            judge("function", 70, &[("short", 80), ("exempt", 90), ("gone", 99), ("less", 200)], lengths);
        assert_eq!(
            found,
            [
                "long: function of 90 lines, at most 70 are allowed",
                "short: the exemption is no longer needed (10 lines), take it off the list",
                "gone: the exemption is no longer needed (0 lines), take it off the list",
                "less: is down to 71 lines, lower its exemption of 200",
            ]
        );
    }

    #[test]
    fn the_repository_keeps_it() {
        crate::tidy::assert_clean(check);
    }
}
