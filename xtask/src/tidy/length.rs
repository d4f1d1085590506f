//! Files of at most 400 lines, functions of at most 70. What is longer stands in a list that may only
//! shrink: no new entry without a reason, and an entry goes when it is no longer needed.

use crate::sources::{File, Tree, functions};

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
    let functions = tree.ending(".rs").flat_map(function_lengths).collect();
    found.extend(judge("function", FUNCTION_LINES, LONG_FUNCTIONS, functions));
    found
}

fn file_length(file: &File) -> (String, usize) {
    (file.path.clone(), file.text().lines().count())
}

/// The functions of a file, as `path name`, and their lengths.
fn function_lengths(file: &File) -> Vec<(String, usize)> {
    functions(file).into_iter().map(|(name, lines)| (format!("{} {name}", file.path), lines)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[(&str, usize)]) -> Vec<(String, usize)> {
        names.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
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
}
