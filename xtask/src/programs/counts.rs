//! Counts against an independent counter: what `report --json` says of a recording, and what `counter.c` saw
//! in the same program without the recorder.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::list::Program;
use super::packages;
use super::scratch::{Before, Scratch};
use crate::sources::root;

/// What is counted: the name, and where `report --json` has it.
const FIGURES: [(&str, &str); 12] = [
    ("malloc", "/calls/malloc"),
    ("calloc", "/calls/calloc"),
    ("realloc", "/calls/realloc"),
    ("aligned", "/calls/aligned"),
    ("free", "/calls/free"),
    ("allocations", "/allocations"),
    ("bytes allocated", "/bytes_allocated"),
    ("frees", "/frees"),
    ("bytes freed", "/bytes_freed"),
    ("peak bytes", "/peak/bytes"),
    ("leaked blocks", "/leaked/blocks"),
    ("leaked bytes", "/leaked/bytes"),
];

type Counts = [u64; FIGURES.len()];

/// Of several processes the counter does not know what was live at one time.
const PEAK: usize = 9;
const UNKNOWN: u64 = u64::MAX;
/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(300);
const RECORD: Before<'_> = Before::Heapscribe(&["record", "-q", "-o", "{trace}"]);

/// Compares all programs; whether all were equal. The table is written when there is more than one.
pub(super) fn compare(scratch: &Scratch, programs: &[Program]) -> Result<bool, String> {
    let counter = build(scratch)?;
    let names: Vec<_> = FIGURES.iter().map(|(name, _)| *name).collect();
    let mut text = format!("program\tresult\t{}\n", names.join("\t"));
    let mut all_equal = true;
    for program in programs {
        let line = of_program(scratch, program, &counter);
        all_equal &= line.contains("\tequal");
        println!("{line}");
        let _ = writeln!(text, "{line}");
    }
    if programs.len() > 1 {
        let path = root().join("bench/campaign/counts.tsv");
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(all_equal)
}

/// The row of a program.
fn of_program(scratch: &Scratch, program: &Program, counter: &Path) -> String {
    try_program(scratch, program, counter).unwrap_or_else(|why| format!("{}\tabsent: {why}", program.name))
}

/// The counter alone, the recorder alone, the counter once more. Who looks at the environment allocates
/// otherwise, as the recorder's variables are others: then both look at one run, the counter behind the recorder.
fn try_program(scratch: &Scratch, program: &Program, counter: &Path) -> Result<String, String> {
    if let Some(missing) = packages::missing(program) {
        return Err(missing);
    }
    scratch.prepare(program)?;
    let first = count(scratch, program, counter, &Before::Nothing)?;
    let recorded = record(scratch, program)?;
    let second = count(scratch, program, counter, &Before::Nothing)?;
    let varies = if first == second { "" } else { ", varies" };
    if differences(&recorded, &[first, second]).is_empty() {
        return Ok(row(program, &format!("equal{varies}"), &recorded));
    }
    let behind = count(scratch, program, counter, &RECORD)?;
    let recorded = report(scratch)?;
    let differences = differences(&recorded, &[behind]);
    let result = if differences.is_empty() {
        format!("equal in one run{varies}")
    } else {
        format!("differs, counted: {}", differences.join(", "))
    };
    Ok(row(program, &result, &recorded))
}

fn row(program: &Program, result: &str, counts: &Counts) -> String {
    let figures: Vec<_> = counts.iter().map(u64::to_string).collect();
    format!("{}\t{result}\t{}", program.name, figures.join("\t"))
}

/// The figures that no run of the counter has, with what it has.
fn differences(recorded: &Counts, counted: &[Counts]) -> Vec<String> {
    let is_equal = |i: usize| counted.iter().any(|counts| counts[i] == recorded[i] || counts[i] == UNKNOWN);
    let unequal = (0..FIGURES.len()).filter(|&i| !is_equal(i));
    unequal.map(|i| format!("{} {}", FIGURES[i].0, counted[0][i])).collect()
}

fn build(scratch: &Scratch) -> Result<std::path::PathBuf, String> {
    let library = scratch.path("counter.so");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-shared", "-fPIC", "-pthread", "-o"]).arg(&library);
    match cc.arg(root().join("bench/campaign/counter.c")).status() {
        Ok(status) if status.success() => Ok(library),
        _ => Err("the counter can not be built".to_owned()),
    }
}

/// Runs the program with the counter, and adds what its processes counted.
fn count(
    scratch: &Scratch,
    program: &Program,
    counter: &Path,
    before: &Before<'_>,
) -> Result<Counts, String> {
    let directory = scratch.path("counts");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).map_err(|e| e.to_string())?;
    let mut counted = program.clone();
    let variables = [("LD_PRELOAD", counter), ("CAMPAIGN_COUNTS", directory.as_path())];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_string_lossy().into_owned()));
    counted.environment.extend(variables);
    if matches!(before, Before::Heapscribe(_)) {
        // Not what `heapscribe` itself allocates.
        counted.environment.push(("CAMPAIGN_ONLY".to_owned(), "HEAPSCRIBE_SESSION".to_owned()));
    }
    scratch.run(&counted, before, LIMIT).map_err(|e| e.to_string())?;
    let mut files = Vec::new();
    for file in fs::read_dir(&directory).map_err(|e| e.to_string())?.flatten() {
        files.push(fs::read(file.path()).map_err(|e| e.to_string())?);
    }
    Ok(sum(&files))
}

fn sum(files: &[Vec<u8>]) -> Counts {
    let mut counts = Counts::default();
    for (i, word) in files.iter().flat_map(|file| file.as_chunks::<8>().0.iter().enumerate()) {
        if let Some(count) = counts.get_mut(i) {
            *count += u64::from_le_bytes(*word);
        }
    }
    if files.len() > 1 {
        counts[PEAK] = UNKNOWN;
    }
    counts
}

/// Records the program, and takes the figures of the report.
fn record(scratch: &Scratch, program: &Program) -> Result<Counts, String> {
    scratch.run(program, &RECORD, LIMIT).map_err(|e| e.to_string())?;
    report(scratch)
}

fn report(scratch: &Scratch) -> Result<Counts, String> {
    let mut report = scratch.heapscribe();
    report.args(["report", "--json", "--top", "1"]).arg(scratch.trace()).stderr(Stdio::inherit());
    let output = report.output().map_err(|e| e.to_string())?;
    let answer: Value = serde_json::from_slice(&output.stdout).map_err(|e| format!("report --json: {e}"))?;
    let mut counts = Counts::default();
    for (count, (name, path)) in counts.iter_mut().zip(FIGURES) {
        let figure = answer.pointer(path).and_then(Value::as_u64);
        *count = figure.ok_or_else(|| format!("report --json has no {name}"))?;
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_nobody_counted_is_a_difference() {
        let counts: Counts = std::array::from_fn(|i| i as u64);
        let (mut more, mut less) = (counts, counts);
        (more[0], less[4]) = (7, 3);
        assert!(differences(&counts, &[less, counts]).is_empty());
        assert_eq!(differences(&counts, &[more, less]), [] as [&str; 0]);
        assert_eq!(differences(&counts, &[less]), ["free 3"]);
    }

    /// The peaks of several processes are not the most that was live at one time.
    #[test]
    fn files_are_added() {
        let file = |n: u64| [n; FIGURES.len()].iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
        assert_eq!(sum(&[file(3)]), [3; FIGURES.len()]);
        let both = sum(&[file(3), file(4)]);
        assert_eq!((both[0], both[PEAK]), (7, UNKNOWN));
        let recorded = [7; FIGURES.len()];
        assert!(differences(&recorded, &[both]).is_empty());
    }
}
