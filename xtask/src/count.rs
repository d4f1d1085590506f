//! `count [--repo DIR]`: sizes and habits of the sources as one row of a table, so that two states of them can
//! be compared, or other repositories with ours.
//!
//! Files below `tests/` and `fuzz/` are left out but for the tests in them; tests inside of source files are
//! counted as lines of these. An unsafe block is `unsafe {`, a note a line that begins `// SAFETY:`; a percentile is the smallest
//! value that so many in a hundred do not exceed.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::sources::{File, Tree, code_only, functions, root};

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let repository = match arguments {
        [] => root(),
        [option, directory] if option == "--repo" => PathBuf::from(directory),
        _ => {
            eprintln!("usage: count [--repo DIR]");
            return ExitCode::from(2);
        }
    };
    println!(
        "| repo | files | median / p90 / max lines | unsafe blocks : SAFETY notes | modules opening with `//!` \
         | fn length median / p90 / p99 | tests per 1000 lines |\n|---|---|---|---|---|---|---|"
    );
    let name = repository.file_name().unwrap_or(repository.as_os_str()).to_string_lossy();
    println!("{}", row(&name, &Counts::of(&Tree::at(&repository))));
    ExitCode::SUCCESS
}

/// What is counted; lengths are sorted.
struct Counts {
    file_lines: Vec<usize>,
    function_lines: Vec<usize>,
    unsafe_blocks: usize,
    safety_notes: usize,
    with_first_line: usize,
    tests: usize,
}

impl Counts {
    fn of(tree: &Tree) -> Counts {
        let sources: Vec<&File> = tree.ending(".rs").filter(|file| is_source(file)).collect();
        let sum = |count: &dyn Fn(&File) -> usize| sources.iter().map(|file| count(file)).sum();
        Counts {
            file_lines: sorted(sources.iter().map(|file| file.text().lines().count())),
            function_lines: sorted(sources.iter().flat_map(|file| functions(file)).map(|(_, lines)| lines)),
            unsafe_blocks: sum(&|file| code_only(file.text()).matches("unsafe {").count()),
            safety_notes: sum(&|file| {
                file.text().lines().filter(|line| line.trim_start().starts_with("// SAFETY:")).count()
            }),
            with_first_line: sum(&|file| usize::from(file.text().starts_with("//!"))),
            tests: tree.ending(".rs").map(|file| code_only(file.text()).matches("#[test]").count()).sum(),
        }
    }
}

fn is_source(file: &File) -> bool {
    !file.is_test() && !file.is_below("fuzz")
}

fn sorted(lengths: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut lengths: Vec<usize> = lengths.collect();
    lengths.sort_unstable();
    lengths
}

fn row(name: &str, counts: &Counts) -> String {
    let (files, functions) = (&counts.file_lines, &counts.function_lines);
    let lines: usize = files.iter().sum();
    let tests = counts.tests as f64 * 1000.0 / lines.max(1) as f64;
    format!(
        "| {name} | {} | {} / {} / {} | {} : {} | {} of {} | {} / {} / {} | {tests:.1} |",
        files.len(),
        percentile(files, 50),
        percentile(files, 90),
        files.last().copied().unwrap_or(0),
        counts.unsafe_blocks,
        counts.safety_notes,
        counts.with_first_line,
        files.len(),
        percentile(functions, 50),
        percentile(functions, 90),
        percentile(functions, 99),
    )
}

/// Of sorted values.
fn percentile(values: &[usize], percent: usize) -> usize {
    let rank = (values.len() * percent).div_ceil(100).max(1);
    values.get(rank - 1).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_small_tree() {
        let tree = Tree::of(&[
            ("a/src/x.rs", "//! X.\nfn f() {\n  // SAFETY: y\n  unsafe { g() }\n}\n#[test]\nfn t() {}\n"),
            ("a/src/y.rs", "fn h() {}\n// unsafe {\n"),
            ("a/tests/t.rs", "#[test]\nfn t() { unsafe { } }\n"),
            ("fuzz/t.rs", "fn t() {}\n"),
        ]);
        assert_eq!(
            row("a", &Counts::of(&tree)),
            "| a | 2 | 2 / 7 / 7 | 1 : 1 | 1 of 2 | 1 / 4 / 4 | 222.2 |"
        );
    }

    #[test]
    fn percentiles_are_values_of_the_list() {
        let values: Vec<usize> = (1..=10).collect();
        assert_eq!([50, 90, 99].map(|percent| percentile(&values, percent)), [5, 9, 10]);
        assert_eq!(percentile(&[], 50), 0);
    }
}
