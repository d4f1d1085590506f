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

/// What stands between a program and what is told of it.
const SECONDS: u64 = 300;

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
    let counted = || -> Result<(Counts, Counts, Counts), String> {
        if let Some(missing) = packages::missing(program) {
            return Err(missing);
        }
        scratch.prepare(program)?;
        let first = count(scratch, program, counter)?;
        Ok((first, record(scratch, program)?, count(scratch, program, counter)?))
    };
    match counted() {
        Err(why) => format!("{}\tabsent: {why}", program.name),
        Ok((first, recorded, second)) => row(&program.name, &first, &recorded, &second),
    }
}

/// Equal when each figure is the counter's; where the counter itself counts otherwise a second time, between.
fn row(name: &str, first: &Counts, recorded: &Counts, second: &Counts) -> String {
    let is_equal = |i: usize| recorded[i] == first[i] || recorded[i] == second[i];
    let unequal: Vec<_> = (0..FIGURES.len()).filter(|&i| !is_equal(i)).collect();
    let figures: Vec<_> = recorded.iter().map(u64::to_string).collect();
    let mut result = if first == second { "equal" } else { "equal, varies" }.to_owned();
    if !unequal.is_empty() {
        let told = unequal.iter().map(|&i| format!("{} {} or {}", FIGURES[i].0, first[i], second[i]));
        result = format!("differs, counted: {}", told.collect::<Vec<_>>().join(", "));
    }
    format!("{name}\t{result}\t{}", figures.join("\t"))
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
fn count(scratch: &Scratch, program: &Program, counter: &Path) -> Result<Counts, String> {
    let directory = scratch.path("counts");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).map_err(|e| e.to_string())?;
    let variables = [("LD_PRELOAD", counter), ("CAMPAIGN_COUNTS", directory.as_path())];
    let limit = Duration::from_secs(SECONDS);
    scratch.run(program, &Before::Variables(&variables), limit).map_err(|e| e.to_string())?;
    let mut counts = Counts::default();
    for file in fs::read_dir(&directory).map_err(|e| e.to_string())?.flatten() {
        let bytes = fs::read(file.path()).map_err(|e| e.to_string())?;
        for (count, word) in counts.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *count += u64::from_le_bytes(*word);
        }
    }
    Ok(counts)
}

/// Records the program, and takes the figures of the report.
fn record(scratch: &Scratch, program: &Program) -> Result<Counts, String> {
    let before = Before::Heapscribe(&["record", "-q", "-o", "{trace}"]);
    scratch.run(program, &before, Duration::from_secs(SECONDS)).map_err(|e| e.to_string())?;
    let mut report = scratch.heapscribe();
    report.args(["report", "--json", "--top", "1"]).arg(scratch.trace()).stderr(Stdio::inherit());
    let output = report.output().map_err(|e| e.to_string())?;
    let answer: Value = serde_json::from_slice(&output.stdout).map_err(|e| format!("report --json: {e}"))?;
    let figure = |path: &str| answer.pointer(path).and_then(Value::as_u64);
    let mut counts = Counts::default();
    for (count, (name, path)) in counts.iter_mut().zip(FIGURES) {
        *count = figure(path).ok_or_else(|| format!("report --json has no {name}"))?;
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
        assert!(row("ls", &counts, &counts, &counts).starts_with("ls\tequal\t0\t1\t2"));
        assert!(row("ls", &counts, &counts, &less).starts_with("ls\tequal, varies\t0\t1"));
        assert!(row("ls", &counts, &more, &less).starts_with("ls\tdiffers, counted: malloc 0 or 0\t7\t1"));
    }
}
