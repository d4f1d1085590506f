//! Each kind of finding: found in a program that has the problem, and not in its twin that has not.

use std::path::Path;

use crate::support::{Place, Report, Run, heapscribe};
use serde_json::Value;

/// Compiles the programs.
fn programs(place: &Place) -> std::path::PathBuf {
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../preload/include");
    place.compile_with("cc", "findings.c", "findings", &[include])
}

/// The findings of one kind in a recording of one of the programs.
fn findings(place: &Place, program: &Path, which: [&str; 2], options: &[&str], kind: &str) -> Vec<Value> {
    let run = Run::new(place, program).args(which).options(options);
    assert_eq!(run.recorded().code, 0, "{which:?}");
    let report = Report::of(&run.trace());
    let all = report.json["findings"].as_array().unwrap().clone();
    all.into_iter().filter(|finding| finding["kind"] == kind).collect()
}

/// The one is found, with who it is, and of the other there is nothing to say.
fn check(program: &str, kind: &str, who: Option<&str>, options: &[&str]) -> Value {
    let place = Place::new();
    let compiled = programs(&place);
    let bad = findings(&place, &compiled, [program, "bad"], options, kind);
    assert_eq!(bad.len(), 1, "{kind}: {bad:?}");
    let finding = bad[0].clone();
    assert_eq!(finding["stacks"][0]["function"].as_str(), who, "{finding}");
    for key in ["summary", "try", "severity", "confidence"] {
        assert!(finding[key].as_str().is_some_and(|text| !text.is_empty()), "{key} of {finding}");
    }
    let good = findings(&place, &compiled, [program, "good"], options, kind);
    assert_eq!(good, Vec::<Value>::new(), "the twin of {program}");
    finding
}

#[test]
fn growth() {
    let finding = check("growth", "growth", Some("make_block"), &[]);
    let number = |key: &str| finding["evidence"][key].as_f64().unwrap();
    // 5,000 bytes a round, 200 rounds; about half of them are there at half time, on a busy machine less exactly.
    assert_eq!(finding["stacks"][0]["bytes"], 1_000_000);
    assert!((250e3..750e3).contains(&number("from_bytes")), "{finding}");
    assert!((900e3..=1e6).contains(&number("to_bytes")), "{finding}");
    let rate = (number("to_bytes") - number("from_bytes")) * 1e9 / number("over_ns");
    assert!((0.8..1.25).contains(&(number("bytes_per_second") / rate)), "{finding}");
}

#[test]
fn leak() {
    let finding = check("leak", "leak", Some("make_block"), &[]);
    assert_eq!(
        (&finding["evidence"]["bytes"], &finding["evidence"]["blocks"]),
        (&100_000.into(), &50.into())
    );
}

#[test]
fn burst() {
    let finding = check("burst", "burst", Some("make_block"), &[]);
    assert_eq!(finding["evidence"]["peak_bytes"], 4_000_000);
    assert_eq!(finding["stacks"][0]["bytes"], finding["evidence"]["rose_bytes"]);
    // Shortly before nothing else rises.
    assert_eq!(finding["stacks"][0]["bytes"], 3_000_000, "{finding}");
    assert_eq!(finding["evidence"]["there_bytes"], 1_000_000, "{finding}");
    let summary = finding["summary"].as_str().unwrap();
    assert!(summary.contains("rose by 2.86 MiB") && summary.contains("all of it asked for"), "{summary}");
}

#[test]
fn a_heap_that_never_falls_has_no_burst() {
    let finding = check("rise", "burst", Some("make_block"), &[]);
    assert_eq!(finding["evidence"]["rose_bytes"], 2_000_000, "{finding}");
}

#[test]
fn what_a_signal_killed_has_no_leak() {
    let place = Place::new();
    let program = programs(&place);
    let run = Run::new(&place, &program).args(["killed", "bad"]);
    run.recorded();
    let report = Report::of(&run.trace());
    let all = report.json["findings"].as_array().unwrap();
    let [leak] = &all.iter().filter(|of| of["kind"] == "leak").collect::<Vec<_>>()[..] else {
        panic!("{all:?}")
    };
    assert_eq!(leak["evidence"]["bytes"], 100_000);
    assert_eq!((&leak["evidence"]["killed_by"], &leak["severity"]), (&9.into(), &"low".into()));
    assert_eq!(
        leak["summary"],
        "Live when signal 9 killed the program: 97.7 KiB in 50 blocks, all of it asked for by make_block; \
         whether any of it leaks is not known."
    );
    let good = findings(&place, &program, ["killed", "good"], &[], "leak");
    assert_eq!(good[0]["summary"], "Never freed: 97.7 KiB in 50 blocks, all of it asked for by make_block.");
}

#[test]
fn temporary() {
    let finding = check("temporary", "temporary", Some("make_block"), &[]);
    assert_eq!(finding["evidence"]["blocks"], 30_000);
    assert_eq!(finding["evidence"]["timed_calls"], 0);
    let timed = check("temporary", "temporary", Some("make_block"), &["--latency"]);
    assert_eq!(timed["evidence"]["timed_calls"], 60_000);
    assert!(timed["evidence"]["took_ns"].as_u64().unwrap() > 0, "{timed}");
}

#[test]
fn realloc_growth() {
    let finding = check("realloc-growth", "realloc-growth", Some("grow_list"), &[]);
    // From 176 bytes on 16 more are less than a tenth, up to 40,000.
    assert_eq!(finding["evidence"]["steps"], (176..40_000).step_by(16).count());
    assert_eq!(finding["evidence"]["copied_bytes_max"], (176..40_000).step_by(16).sum::<u64>());
    assert_eq!(finding["evidence"]["largest_bytes"], 40_000);
}

#[test]
fn late_free() {
    let finding = check("late-free", "late-free", Some("make_block"), &[]);
    assert_eq!(
        (&finding["evidence"]["bytes"], &finding["evidence"]["blocks"]),
        (&(4 << 20).into(), &4.into())
    );
}

/// Blocks of processes that lived one after the other were not live together, and the run is that of each.
#[test]
fn late_free_is_of_one_process() {
    let place = Place::new();
    let program = programs(&place);
    let thrice =
        format!("{0} late-free bad; {0} late-free bad; {0} late-free good; exit 0", program.display());
    let run = Run::new(&place, "sh").args(["-c", &thrice]);
    assert_eq!(run.recorded().code, 0);
    let trace = run.trace();
    let json = Report::of(&trace).json;
    let all = json["findings"].as_array().unwrap();
    let found: Vec<_> = all.iter().filter(|finding| finding["kind"] == "late-free").collect();
    let [finding] = &found[..] else { panic!("{found:?}") };
    // What lives long and is large is counted over all processes, and has nothing of the twin.
    let long_lived = &json["long_lived"];
    assert_eq!((&long_lived["blocks"], &long_lived["bytes"]), (&8.into(), &(8 << 20).into()), "{long_lived}");
    assert_eq!((&long_lived["freed"]["blocks"], &long_lived["exact"]), (&8.into(), &true.into()));
    assert_eq!(long_lived["stacks"][0]["function"], "make_block");
    let full = heapscribe().args(["report", "--full"]).arg(&trace).output().unwrap();
    let full = String::from_utf8(full.stdout).unwrap();
    let (_, section) = full.split_once("\nLarge and long-lived\n").unwrap_or_else(|| panic!("{full}"));
    assert!(section.contains("100.0 %: 8,388,608 bytes (8.00 MiB) in 8 blocks, all freed"), "{section}");
    assert_eq!(finding["evidence"]["bytes"], 4 << 20);
    let summary = finding["summary"].as_str().unwrap();
    assert!(summary.contains("for more than half of the life of findings ("), "{summary}");
}

#[test]
fn foreign_free() {
    let finding = check("foreign-free", "foreign-free", Some("make_block"), &[]);
    // A replay is one thread: it cannot show what other threads cost.
    let advice = finding["try"].as_str().unwrap();
    assert!(advice.contains("`heapscribe run --heap tlsf -- ") && !advice.contains("replay"), "{advice}");
    assert_eq!(
        (&finding["evidence"]["freed"], &finding["evidence"]["by_others"]),
        (&5000.into(), &5000.into())
    );
}

#[test]
fn resident_excess() {
    let finding = check("resident-excess", "resident-excess", None, &[]);
    let bytes = |key: &str| finding["evidence"][key].as_u64().unwrap();
    assert!(bytes("heap_bytes") < 2 << 20 && bytes("anonymous_bytes") > 50 << 20, "{finding}");
}

#[test]
fn arenas() {
    let finding = check("arenas", "arenas", None, &[]);
    let number = |key: &str| finding["evidence"][key].as_u64().unwrap();
    assert_eq!(number("threads"), 6, "{finding}");
    // What one thread took, which is given back before the next takes as much.
    assert!((8_000_000..10_000_000).contains(&number("heap_bytes_max")), "{finding}");
    assert!(number("anonymous_bytes") > 40_000_000, "{finding}");
    assert!(finding["try"].as_str().unwrap().contains("MALLOC_ARENA_MAX=2"), "{finding}");
}

#[test]
fn rounding() {
    let finding = check("rounding", "rounding", Some("make_block"), &[]);
    assert_eq!(finding["evidence"]["heap_bytes"], 3_200_000);
    assert_eq!(finding["evidence"]["wasted_bytes"], 2_400_000);
    let finding = check("alignment", "rounding", Some("alignment"), &[]);
    assert_eq!(finding["evidence"]["wasted_bytes"], 1000 * (4096 - 64));
}

#[test]
fn section() {
    let finding = check("section", "section", Some("make_block"), &[]);
    assert_eq!(finding["evidence"]["peak_bytes"], 99 * 5000);
}

#[test]
fn sampling() {
    check("sampling", "sampling", None, &["--sample", "1MiB", "--sample-seed", "7"]);
}

#[test]
fn the_first_screen_has_fifty_lines_at_most() {
    let place = Place::new();
    let program = programs(&place);
    for which in ["growth", "leak", "burst", "temporary", "rounding", "sampling"] {
        let options: &[&str] = if which == "sampling" { &["--sample", "1MiB"] } else { &[] };
        let run = Run::new(&place, &program).args([which, "bad"]).options(options);
        assert_eq!(run.recorded().code, 0);
        let output = heapscribe().arg("report").arg(run.trace()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.lines().count() <= 50, "{which}: {} lines\n{text}", text.lines().count());
        assert!(text.contains(&format!("{which} (")), "{text}");
    }
}

/// What a trace's first screen has, and how many lines.
fn first_screen(place: &Place) -> (usize, String) {
    let output = heapscribe().arg("report").arg(place.path("run.hst")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (text.lines().count(), text)
}

#[test]
fn any_trace_keeps_to_a_screen() {
    let place = Place::new();
    let script = "for i in $(seq 30); do ls / > /dev/null; cat /dev/null; done; env -i /bin/true";
    for options in [&[][..], &["--last", "50ms"], &["--sample", "16KiB"], &["--latency"]] {
        let run = Run::new(&place, "bash").args(["-c", script]).options(options);
        assert_eq!(run.recorded().code, 0);
        let (lines, text) = first_screen(&place);
        assert!(lines <= 50, "{options:?}: {lines} lines\n{text}");
        for part in ["What is missing", "Not recorded", "Next"] {
            assert!(text.contains(part), "{options:?}: {part} in {text}");
        }
    }
}

/// Exit code, output and the rule's object of a check of a trace.
fn checked(trace: &Path, rules: &[&str]) -> (i32, String, Value) {
    let check = |more: &[&str]| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs");
        let mut command = heapscribe();
        command.arg("check").arg(trace).args(rules).args(more).env("GITHUB_WORKSPACE", source);
        command.output().unwrap()
    };
    let text = check(&["--format", "github"]);
    let json: Value = serde_json::from_slice(&check(&["--json"]).stdout).unwrap();
    (text.status.code().unwrap(), String::from_utf8(text.stdout).unwrap(), json["rules"][0].clone())
}

#[test]
fn a_finding_breaks_a_build() {
    let place = Place::new();
    let program = programs(&place);
    let bad = Run::new(&place, &program).args(["rounding", "bad"]);
    assert_eq!(bad.recorded().code, 0);
    let (code, text, rule) = checked(&bad.trace(), &["--no-finding", "rounding"]);
    assert_eq!((code, &rule["verdict"], &rule["of"]), (4, &"broken".into(), &"rounding".into()), "{text}");
    assert_eq!((&rule["found"]["value"], &rule["unit"]), (&1.into(), &"findings".into()), "{rule:#}");
    assert_eq!(rule["findings"][0]["kind"], "rounding", "{rule:#}");
    assert_eq!(rule["stacks"][0]["frames"][0]["function"], "make_block", "{rule:#}");
    assert!(text.contains("\n      rounding (medium; confidence: high): make_block asked for"), "{text}");
    let annotation =
        text.lines().find(|line| line.starts_with("::error file=findings.c,line=")).expect(&text);
    assert!(annotation.contains("title=heapscribe%3A no-finding rounding::rounding (medium"), "{annotation}");
    // Waste that takes no more than the peak twice over is not of high severity.
    assert_eq!(checked(&bad.trace(), &["--no-findings", "high"]).0, 0);
    assert_eq!(checked(&bad.trace(), &["--no-findings", "medium"]).0, 4);

    let good = Run::new(&place, &program).args(["rounding", "good"]);
    assert_eq!(good.recorded().code, 0);
    let (code, text, rule) = checked(&good.trace(), &["--no-finding", "rounding", "--no-finding", "leak"]);
    assert_eq!((code, &rule["verdict"]), (0, &"holds".into()), "{text}");
    assert!(text.contains("no-finding rounding of all processes: no findings"), "{text}");
}

/// What was not seen proves nothing: samples that are too few, a program that a signal killed.
#[test]
fn findings_that_a_trace_cannot_show_are_undecided() {
    let place = Place::new();
    let program = programs(&place);
    let sampled = Run::new(&place, &program).args(["sampling", "bad"]).options(["--sample", "1MiB"]);
    assert_eq!(sampled.recorded().code, 0);
    let (code, text, rule) = checked(&sampled.trace(), &["--no-finding", "temporary"]);
    assert_eq!((code, &rule["verdict"]), (3, &"undecided".into()), "{text}");
    let why = rule["why"].as_array().unwrap();
    let says = |what: &str| why.iter().any(|why| why.as_str().unwrap().starts_with(what));
    assert!(says("Samples are too few"), "{rule:#}");
    assert!(rule["found"].is_null(), "{rule:#}");
    // No block of it is sampled: "holds: no findings".
    let unseen = Run::new(&place, &program).args(["leak", "bad"]).options(["--sample", "1GiB"]);
    assert_eq!(unseen.recorded().code, 0);
    let (code, text, _) = checked(&unseen.trace(), &["--no-finding", "leak"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("less than 3.00 GiB may have gone without a sample"), "{text}");
    let killed = Run::new(&place, &program).args(["killed", "bad"]);
    killed.recorded();
    let (code, text, rule) = checked(&killed.trace(), &["--no-finding", "leak"]);
    assert_eq!((code, &rule["findings"][0]["kind"]), (3, &"leak".into()), "{text}");
}

/// A suppressed leak is no finding either, and the line of the file was used.
#[test]
fn suppressed_leaks_are_no_findings() {
    let place = Place::new();
    let program = programs(&place);
    let leak = Run::new(&place, &program).args(["leak", "bad"]);
    assert_eq!(leak.recorded().code, 0);
    assert_eq!(checked(&leak.trace(), &["--no-finding", "leak"]).0, 4);
    let known = place.path("known.supp");
    std::fs::write(&known, "leak:^make_block\n").unwrap();
    let rules = ["--no-finding", "leak", "--suppressions", known.to_str().unwrap()];
    let (code, text, _) = checked(&leak.trace(), &rules);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("leak:^make_block suppressed 100,000 bytes (97.7 KiB) in 50 blocks"), "{text}");
}
