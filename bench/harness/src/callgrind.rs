//! What callgrind counted: instructions by source file, inlined code at the file that it is written in.
//!
//! The file that it writes has lines `fl=`, `fi=`, `fe=` that change the current file, with names given once
//! (`fl=(3) a.c`, later `fl=(3)`), cost lines (`line cost`) and, after `calls=`, one cost line of what the
//! callee took, which is counted at the callee as well.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

/// Instructions by source file.
pub(crate) type Counts = BTreeMap<String, i64>;

/// Reads what callgrind wrote.
pub(crate) fn read(path: &Path) -> Result<Counts> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("callgrind has not written {}", path.display()))?;
    Ok(parse(&text))
}

fn parse(text: &str) -> Counts {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut counts = Counts::new();
    let mut file = "";
    let mut is_callees = false;
    for line in text.lines() {
        if let Some((key, value)) =
            line.split_once('=').filter(|(key, _)| key.bytes().all(|b| b.is_ascii_lowercase()))
        {
            let name = match key {
                "fl" | "fi" | "fe" | "cfi" | "cfl" => named(value, &mut names),
                _ => "",
            };
            if matches!(key, "fl" | "fi" | "fe") {
                file = name;
            }
            is_callees |= key == "calls";
            continue;
        }
        // `+3 40`, `-2 40`, `* 40` or `17 40`: the line, then its cost.
        let is_cost = line.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '*'));
        let cost = line.split_whitespace().nth(1).and_then(|word| word.parse::<i64>().ok());
        if let Some(cost) = cost.filter(|_| is_cost)
            && !std::mem::take(&mut is_callees)
        {
            *counts.entry(file.to_owned()).or_default() += cost;
        }
    }
    counts
}

/// The name that `(3) name` defines, or `(3)` refers to.
fn named<'a>(value: &'a str, names: &mut BTreeMap<&'a str, &'a str>) -> &'a str {
    let Some((id, name)) = value.split_once(')') else { return value };
    let name = name.trim();
    if !name.is_empty() {
        names.insert(id, name);
    }
    names.get(id).copied().unwrap_or_default()
}

/// All instructions.
pub(crate) fn total(counts: &Counts) -> i64 {
    counts.values().sum()
}

/// `more` without `less`, file by file.
pub(crate) fn difference(more: &Counts, less: &Counts) -> Counts {
    let mut out = more.clone();
    for (file, count) in less {
        *out.entry(file.clone()).or_default() -= count;
    }
    out.retain(|_, count| *count != 0);
    out
}

/// Gathers files into parts of ours, and all else as libraries.
pub(crate) fn by_part(counts: &Counts) -> Counts {
    let mut out = Counts::new();
    for (file, count) in counts {
        *out.entry(part(file)).or_default() += count;
    }
    out
}

fn part(file: &str) -> String {
    let ours = file.split_once("crates/").and_then(|(_, path)| path.split_once("/src/"));
    match ours {
        Some((name, path)) => format!("{name}/{path}"),
        None if file.contains("library/core") || file.contains("/rustc/") => {
            "Rust's core, inlined".to_owned()
        }
        None => "glibc and the program".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pairs: &[(&str, i64)]) -> Counts {
        pairs.iter().map(|&(file, n)| (file.to_owned(), n)).collect()
    }

    const TEXT: &str = "version: 1\ncmd: deep pair\npart: 1\n\nevents: Ir\nsummary: 90\n\n\
        ob=(1) /deep\nfl=(1) /p/deep.c\nfn=(1) main\n10 5\n+2 7\ncfi=(2) /w/crates/recorder/src/enter.rs\n\
        cfn=(2) malloc\ncalls=3 40\n* 60\n-1 8\n\nfl=(2)\nfn=(2)\n40 20\nfi=(3) /rustc/x/library/core/src/ptr.rs\n50 30\n\
        fe=(2)\n+1 10\n\nfl=(4) ???\nfn=(4) memcpy\n0 10\n\ntotals: 90\n";

    #[test]
    fn own_costs_are_summed_by_file_and_those_of_callees_are_not() {
        let expected = [
            ("/p/deep.c", 20),
            ("/rustc/x/library/core/src/ptr.rs", 30),
            ("/w/crates/recorder/src/enter.rs", 30),
            ("???", 10),
        ];
        assert_eq!(parse(TEXT), counts(&expected));
        assert_eq!(total(&parse(TEXT)), 90);
        let parts = [("Rust's core, inlined", 30), ("glibc and the program", 30), ("recorder/enter.rs", 30)];
        assert_eq!(by_part(&parse(TEXT)), counts(&parts));
    }

    #[test]
    fn differences_leave_out_what_is_the_same() {
        let more = counts(&[("a", 5), ("b", 3)]);
        assert_eq!(
            difference(&more, &counts(&[("a", 5), ("b", 1), ("c", 1)])),
            counts(&[("b", 2), ("c", -1)])
        );
    }
}
