//! What is recorded in each mode, and across changes of the mode while the program runs.

use std::path::{Path, PathBuf};

use crate::support::{Ended, Place, Report, Run, heapscribe, until};
use serde_json::Value;

/// Blocks that one call path of function `name` was given, and how many of them are left.
fn of(report: &Report, name: &str) -> (u64, u64) {
    let stacks = report.json["stacks"].as_array().unwrap().iter();
    let its: Vec<&Value> = stacks
        .filter(|s| s["frames"].as_array().unwrap().iter().any(|frame| frame["function"] == name))
        .collect();
    let sum = |of: &dyn Fn(&Value) -> u64| its.iter().map(|s| of(s)).sum();
    (sum(&|s| s["count"].as_u64().unwrap()), sum(&|s| s["leaked"]["blocks"].as_u64().unwrap()))
}

/// Samples that hit blocks of the call paths of function `name`.
fn samples_of(report: &Report, name: &str) -> u64 {
    let stacks = report.json["stacks"].as_array().unwrap().iter();
    let its =
        stacks.filter(|s| s["frames"].as_array().unwrap().iter().any(|frame| frame["function"] == name));
    its.map(|s| s["sampling"]["allocated"]["samples"].as_u64().unwrap()).sum()
}

/// Tells the process with this pid what to record.
fn ctl(dir: &Path, pid: u32, words: &[&str]) {
    let mut command = heapscribe();
    command.arg("ctl").arg(pid.to_string()).args(words).arg("--session-dir").arg(dir);
    let said = command.output().unwrap();
    assert!(said.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said.stderr));
}

/// Pid of the one process that has a session below `dir`.
fn pid_of(dir: &Path, program: &str) -> Option<u32> {
    let inside = |dir: PathBuf| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let sessions = inside(dir.to_path_buf()).flat_map(inside);
    let pids = sessions.filter_map(|s| s.file_name()?.to_str()?.split_once('.')?.0.parse::<u32>().ok());
    pids.into_iter().find(|pid| {
        std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(program.as_bytes()))
    })
}

/// Runs the five phases of modes.c in the place, each in its mode, where one is set; each phase has its own
/// function.
fn run_phases<'a>(place: &'a Place, options: &[&str], modes: [Option<&str>; 5]) -> (Run<'a>, Ended) {
    run_phases_and(place, options, modes, |_, _| ())
}

/// The same; `before_last` has the directory of sessions and the pid, before the last phase.
fn run_phases_and<'a>(
    place: &'a Place,
    options: &[&str],
    modes: [Option<&str>; 5],
    before_last: impl Fn(&Path, u32),
) -> (Run<'a>, Ended) {
    let (dir, steps) = (place.path("sessions"), place.path("steps"));
    std::fs::create_dir(&dir).unwrap();
    std::fs::create_dir(&steps).unwrap();
    let program = place.compile("modes.c");
    let run = Run::new(place, &program).args([Path::new("phases"), &steps]).options(["--session-dir"]);
    let run = run.options([&dir]).options(options);
    let started = run.start();
    let name = program.to_str().unwrap();
    until("the program has a session", || pid_of(&dir, name).is_some());
    let pid = pid_of(&dir, name).unwrap();
    for (phase, mode) in (1..).zip(modes) {
        if let Some(mode) = mode {
            ctl(&dir, pid, &["mode", mode]);
        }
        if phase == 5 {
            before_last(&dir, pid);
        }
        std::fs::write(steps.join(phase.to_string()), "").unwrap();
        until("the phase is over", || steps.join(format!("done{phase}")).exists());
    }
    let ended = started.wait();
    (run, ended)
}

/// Off, then everything, off, every byte's block, off.
#[test]
fn each_phase_in_its_mode() {
    let place = Place::new();
    let modes = [None, Some("full"), Some("off"), Some("sampled:1"), Some("off")];
    let (run, Ended { code, stdout, stderr, .. }) = run_phases(&place, &["--mode", "off"], modes);
    assert_eq!((code, stdout.as_str()), (0, "sum 650000\n"), "{stderr}");
    let report = Report::of(&run.trace());
    // With samples of one byte on average a block of 100 goes unseen once in e^101 times.
    let seen = ["phase_1", "phase_2", "phase_3", "phase_4", "phase_5"].map(|phase| of(&report, phase));
    assert_eq!(seen, [(0, 0), (1100, 0), (0, 0), (1100, 0), (0, 0)]);
    // Blocks of phase 1 were freed while everything was recorded, those of phase 3 while samples were.
    assert_eq!(report.dropped("unknown_block"), 1000);
}

/// Everything, for a while samples of which none is taken, and everything again: what was recorded is no estimate.
#[test]
fn a_short_time_of_samples_estimates_nothing_else() {
    let place = Place::new();
    let (run, ended) = run_phases(&place, &[], ["full", "full", "sampled:1TiB", "full", "full"].map(Some));
    assert!(ended.stderr.contains("recorded; the report estimates the rest"), "{}", ended.stderr);
    let report = Report::of(&run.trace());
    assert_eq!(of(&report, "phase_2"), (1100, 0));
    assert_eq!(report.json["sampling"]["samples"], 0);
    let text = heapscribe().args(["report", "--full"]).arg(run.trace()).output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(!text.contains("estimated") && !text.contains('≈'), "{text}");
    assert!(text.contains("For part of the time every block was recorded, 4,4"), "{text}");
    assert!(text.contains("of which there was none"), "{text}");
    assert!(report.dropped("unknown_block") > 0, "{text}");
    for shown in [text, ended.stderr] {
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            shown.contains("in a parent before it forked, between two samples, or in another heap"),
            "{shown}"
        );
    }
}

/// What came and what went of all processes and threads, by which calls.
fn totals(report: &Report) -> [u64; 5] {
    let calls = report.calls();
    [calls.malloc, calls.calloc, calls.realloc, calls.aligned, calls.free]
}

/// Where each byte is hit all calls are there, in threads and forked children, and nothing is left over.
#[test]
fn samples_of_a_byte_are_everything() {
    let place = Place::new();
    let program = place.compile("modes.c");
    let full = Run::new(&place, &program).args(["threads"]);
    let ended = full.recorded();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "sum 7\n"), "{}", ended.stderr);
    let exact = Report::of(&full.trace());
    let other = Place::new();
    let sampled = Run::new(&other, &program).args(["threads"]).options(["--sample", "1"]);
    let ended = sampled.recorded();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "sum 7\n"), "{}", ended.stderr);
    let report = Report::of(&sampled.trace());
    assert_eq!(of(&report, "all_calls"), of(&exact, "all_calls"));
    assert_eq!(of(&report, "all_calls").1, 0);
    assert_eq!(report.processes().len(), 4);
    let [malloc, calloc, realloc, aligned, _] = totals(&report);
    let [exact_malloc, exact_calloc, exact_realloc, exact_aligned, _] = totals(&exact);
    assert_eq!((calloc, aligned), (exact_calloc, exact_aligned));
    assert!(
        malloc.abs_diff(exact_malloc) <= 40 && realloc.abs_diff(exact_realloc) <= 4,
        "small blocks of libc"
    );
}

/// The samples of a seed are the same in each run of one thread, and not those of another seed.
#[test]
fn a_seed_makes_the_same_samples() {
    let place = Place::new();
    let steps = place.path("steps");
    std::fs::create_dir(&steps).unwrap();
    (1..=5).for_each(|phase| std::fs::write(steps.join(phase.to_string()), "").unwrap());
    let program = place.compile("modes.c");
    let samples = |seed: &str| {
        let run = Run::new(&place, &program).args([Path::new("phases"), &steps]);
        let run = run.options(["--sample", "4KiB", "--sample-seed", seed]);
        assert_eq!(run.recorded().code, 0);
        let report = Report::of(&run.trace());
        let hit = ["phase_1", "phase_2", "phase_3", "phase_4", "phase_5"].map(|phase| {
            let (count, left) = of(&report, phase);
            assert!(count > 300 && left == 0, "{phase}: {count} {left}");
            samples_of(&report, phase)
        });
        assert!(hit.iter().all(|n| *n > 10), "{hit:?}");
        hit
    };
    let first = samples("7");
    assert_eq!(samples("7"), first);
    assert_ne!(samples("8"), first);
}

/// The phase in which recording is off leaves figures open: each says so, and a rule holds only for what is known.
#[test]
fn a_time_that_was_not_recorded_is_named() {
    let place = Place::new();
    let modes = [None, None, Some("off"), Some("full"), None];
    let snapshot = place.path("snapshot.hst");
    let take_snapshot = |dir: &Path, pid: u32| {
        let mut command = heapscribe();
        command.arg("snapshot").arg(pid.to_string()).arg("--session-dir").arg(dir).arg("-o").arg(&snapshot);
        assert!(command.output().unwrap().status.success());
    };
    let (run, Ended { code, stderr, .. }) = run_phases_and(&place, &[], modes, take_snapshot);
    assert_eq!(code, 0, "{stderr}");
    let live = Report::of(&snapshot).json;
    assert!(live["exact"] == false && live["bounds"]["bytes"]["high"].is_null(), "{live}");
    assert_eq!(live["bounds"]["blocks"]["low"], live["live"]["blocks"]);
    for words in ["nothing was recorded of 1 process", "peak: at least ", "not freed: at least "] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
    let report = Report::of(&run.trace());
    let process = &report.json["processes"][0];
    let off = process["off"].as_array().unwrap();
    let [from, to] = ["from_ns", "to_ns"].map(|key| off[0][key].as_u64().unwrap());
    let end = process["end_ns"].as_u64().unwrap();
    assert!(off.len() == 1 && 0 < from && from < to && to < end, "{off:?} of {end}");
    for figure in ["leaked", "peak", "allocations"] {
        assert!(report.json["bounds"][figure]["bytes"]["high"].is_null(), "{}", report.json["bounds"]);
    }
    let output = |arguments: &[&str]| {
        let output = heapscribe().args(arguments).arg(run.trace()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (_, text) = output(&["report"]);
    assert!(text.contains("Recording was off for ") && text.contains("at least"), "{text}");
    let (_, lines) = output(&["dump"]);
    let modes = ["mode time=", " off\n", " full\n"];
    assert!(modes.iter().all(|mode| lines.contains(mode)), "{lines}");
    let (code, verdicts) = output(&["check", "--max-peak", "1GiB", "--max-leaked", "1GiB"]);
    assert!(code == 3 && verdicts.contains("recording was off for"), "{code} {verdicts}");
    let (code, verdicts) = output(&["check", "--max-allocations", "10"]);
    assert_eq!(code, 4, "{verdicts}");
}

/// A process has numbers for three rates: of a fourth the nearest is taken, so that the trace has the rate that was used.
#[test]
fn of_a_fourth_rate_the_nearest_is_taken() {
    let place = Place::new();
    let modes = ["sampled:100", "sampled:1000", "sampled:200", "sampled:110", "full"].map(Some);
    let (run, Ended { code, stderr, .. }) = run_phases(&place, &["--mode", "off"], modes);
    assert_eq!(code, 0, "{stderr}");
    let report = Report::of(&run.trace());
    assert_eq!(report.dropped("rate_table"), 0);
    assert_eq!(report.json["sampling"]["mean_bytes"], serde_json::json!([100, 200, 1000]));
    // Of 1,100 blocks of 100 bytes 699 are hit at one sample per 100 bytes and 437 at one per 200, give or take 16.
    let hit = samples_of(&report, "phase_4");
    assert!((600..800).contains(&hit), "{hit}");
}

/// Each command says that recording was off, and none takes its figure for the whole.
#[test]
fn no_command_passes_over_a_time_that_was_not_recorded() {
    let place = Place::new();
    let modes = [None, None, Some("off"), Some("full"), None];
    let (run, Ended { code, stderr, .. }) = run_phases(&place, &[], modes);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("in a parent before it forked, while recording was off, or in"), "{stderr}");
    let said = |line: &str| {
        let file = |word: &str| match word {
            "TRACE" => run.trace(),
            word if word.starts_with("out.") => place.path(word),
            word => word.into(),
        };
        let output = heapscribe().args(line.split(' ').map(file)).output().unwrap();
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (output.status.code().unwrap(), text.concat())
    };
    for (line, expected, words) in [
        ("flame TRACE -o out.svg", 0, "warning:"),
        ("flame TRACE --from 10% -o out.svg", 0, "warning:"),
        ("hotspots TRACE", 0, "warning:"),
        ("diff TRACE TRACE", 0, "warning:"),
        ("plot TRACE -o out.pdf", 0, "warning:"),
        ("convert TRACE --to heaphook -o out.log", 0, "warning:"),
        ("replay TRACE --heap tlsf --rounds 0", 3, "peak at least "),
        ("pool-size TRACE", 3, "Recommended: at least "),
        ("check TRACE --max-failed 0", 3, "UNDECIDED"),
        ("check TRACE --max-alloc-rate 1000000", 3, "UNDECIDED"),
        ("check TRACE --max-peak 1GiB", 3, "whether it exceeds the limit is not known"),
    ] {
        let (code, text) = said(line);
        let is_said = text.contains("recording was off for ") && text.contains(words);
        assert!(code == expected && is_said, "{line}: {code} {text}");
        assert!(!text.contains("Verified"), "{text}");
    }
    assert_eq!(said("check TRACE --max-alloc-rate 1").0, 4, "too many as it is");
    assert_eq!(said("check TRACE --max-rss 1GiB").0, 0, "resident memory is sampled all the same");
    let (_, text) = said("report TRACE --full");
    assert!(text.contains("forked, while recording was off, or in another heap: 1,000 (unknown"), "{text}");
}
