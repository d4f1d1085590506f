//! Traces of Go's: heap and stacks line for line as Go's own reader has them, every event of its dumps, cut
//! files.
//!
//! ```text
//!   NAME.trace            a trace; NAME.padded-stacklen.trace says the same in longer numbers
//!   NAME.heap.txt.xz      the heap over time         NAME.stacks.txt.xz   the stacks
//!   NAME.dump.xz          `go tool trace -d`         NAME.wire.xz         `go tool trace -d=2`
//!   NAME.counts.txt       events by name             NAME.parsed.xz       `go tool trace -d=1`
//! ```

mod dump;
mod event;
mod wire;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use heapscribe_formats::gotrace::Trace;

use event::{events, open_whole, plain_name};

use super::check::{Check, Place};
use super::memtrace::{files, same_bytes, stem};
use super::run::{run, unpack};

const LIMIT: Duration = Duration::from_secs(120);

pub(super) fn check(place: &Place<'_>) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut all = |ending: &str, what: &str, compare: &dyn Fn(&Path, &str, &Path) -> Result<(), String>| {
        for expected in files(place.folder, ending) {
            let name = stem(&expected, ending);
            for trace in [format!("{name}.trace"), format!("{name}.padded-stacklen.trace")] {
                let path = place.folder.join(&trace);
                if path.is_file() {
                    checks.push(Check::new(format!("{what} of {trace}"), compare(&path, &name, &expected)));
                }
            }
        }
    };
    all(".heap.txt.xz", "heap", &|trace, _, expected| text_alike(place, trace, "go-heap", expected));
    all(".stacks.txt.xz", "stacks", &|trace, _, expected| text_alike(place, trace, "go-stacks", expected));
    all(".counts.txt", "counts", &|trace, _, expected| counts_alike(trace, expected));
    all(".wire.xz", "wire events, texts and stacks", &|trace, _, expected| wire::alike(trace, expected));
    all(".parsed.xz", "metrics", &|trace, _, expected| wire::metrics_alike(trace, expected));
    all(".dump.xz", "events", &|trace, name, expected| {
        // Padding moves records, whose places the dump has.
        if stem(trace, ".trace") == name { dump::alike(trace, expected) } else { Ok(()) }
    });
    for trace in files(place.folder, ".trace") {
        let name = stem(&trace, ".trace");
        checks.push(Check::new(format!("cuts of {name}"), cuts_read(&trace)));
        checks.push(Check::new(format!("report of {name}"), report_runs(place, &trace)));
    }
    checks
}

fn text_alike(place: &Place<'_>, trace: &Path, style: &str, expected: &Path) -> Result<(), String> {
    let trace = trace.to_str().ok_or("a path that is no text")?;
    let ran = run(place.program, &["dump", "--style", style, trace], LIMIT)?;
    same_bytes(&ran.stdout, &unpack("xz", expected)?)
}

fn counts_alike(path: &Path, expected: &Path) -> Result<(), String> {
    let bytes = fs::read(path).map_err(|e| e.to_string())?;
    let trace = open_whole(&bytes)?;
    let mut ours: BTreeMap<String, usize> = BTreeMap::new();
    for event in events(&trace)? {
        *ours.entry(plain_name(event.name).to_owned()).or_default() += 1;
    }
    ours.insert("STACKS".to_owned(), trace.stack_ids().len());
    let text = fs::read_to_string(expected).map_err(|e| e.to_string())?;
    let line = |line: &str| {
        let (name, count) = line.split_once('\t')?;
        Some((plain_name(name).to_owned(), count.parse().ok()?))
    };
    let theirs: BTreeMap<String, usize> = text.lines().filter_map(line).collect();
    if ours == theirs { Ok(()) } else { Err(format!("{ours:?}, should be {theirs:?}")) }
}

/// A file that is cut anywhere is read as far as it goes, in time, and says so unless it is cut between two
/// generations.
fn cuts_read(path: &PathBuf) -> Result<(), String> {
    let bytes = fs::read(path).map_err(|e| e.to_string())?;
    let all = Trace::open(&*bytes).map_err(|e| e.to_string())?.events();
    let mut last = 0;
    for cut in (1..40).map(|part| bytes.len() * part / 40).filter(|cut| *cut >= 16) {
        let trace = Trace::open(&bytes[..cut]).map_err(|e| format!("cut at {cut}: {e}"))?;
        let read = events(&trace)?;
        let is_told = !trace.problems().is_empty() || trace.generations().len() > 1;
        let in_order = read.is_sorted_by_key(|event| event.ticks);
        if read.len() as u64 != trace.events() || trace.events() < last || trace.events() > all {
            return Err(format!("cut at {cut}: {} events, {last} before, {all} in all", read.len()));
        }
        if !is_told || !in_order {
            return Err(format!("cut at {cut}: told {is_told}, in order {in_order}"));
        }
        last = trace.events();
    }
    Ok(())
}

fn report_runs(place: &Place<'_>, path: &Path) -> Result<(), String> {
    let bytes = fs::read(path).map_err(|e| e.to_string())?;
    let events = Trace::open(&*bytes).map_err(|e| e.to_string())?.events();
    let ran = run(place.program, &["report", path.to_str().unwrap_or_default()], LIMIT)?;
    match (ran.code, events) {
        (Some(0), _) if !ran.stdout.is_empty() => Ok(()),
        (Some(1), 0) if ran.stderr.contains("has no events") => Ok(()),
        (code, _) => Err(format!("{code:?} {}", ran.stderr)),
    }
}
