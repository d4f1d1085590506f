//! `check` of a real program that keeps rules or breaks them, as it is told.

use std::path::{Path, PathBuf};

use crate::support::{self, Place, Run, heapscribe, skip};
use serde_json::Value;

/// A place with the program in it.
fn built() -> (Place, PathBuf) {
    let place = Place::new();
    let header = heapscribe().arg("header").output().unwrap();
    std::fs::write(place.path("heapscribe.h"), header.stdout).unwrap();
    let include = format!("-I{}", place.path("").display());
    let program = place.compile_with("cc", "checked.c", "checked", &[&include]);
    (place, program)
}

/// A trace of the program that does this; libc's own blocks stay live at its end.
fn recorded(place: &Place, program: &Path, name: &str, asked: &[&str], options: &[&str]) -> PathBuf {
    let run = Run::new(place, program).args(asked).options(options);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let trace = place.path(name);
    std::fs::rename(run.trace(), &trace).unwrap();
    trace
}

/// Exit code and JSON.
fn check(trace: &Path, rules: &[&str]) -> (i32, Value) {
    let output = heapscribe().arg("check").arg(trace).args(rules).arg("--json").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    (
        output.status.code().unwrap(),
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e} {error}")),
    )
}

/// All functions of the stacks that speak against a rule.
fn functions(finding: &Value) -> Vec<String> {
    let stacks = finding["stacks"].as_array().unwrap().iter();
    let frames = stacks.flat_map(|stack| stack["frames"].as_array().unwrap());
    frames.filter_map(|frame| frame["function"].as_str().map(str::to_owned)).collect()
}

fn has(finding: &Value, function: &str) -> bool {
    functions(finding).iter().any(|name| name == function)
}

#[test]
fn sections_and_marks() {
    let (place, program) = built();
    let clean = recorded(&place, &program, "clean.hst", &[], &[]);
    let rules = ["--no-alloc-in", "control", "--no-alloc-after", "ready"];
    let (code, found) = check(&clean, &rules);
    assert_eq!((code, &found["verdict"]), (0, &"holds".into()), "{found:#}");
    assert_eq!(found["rules"][0]["why"][0], "the section began 100 times");

    let dirty = recorded(&place, &program, "dirty.hst", &["allocates", "frees", "late"], &[]);
    let (code, found) = check(&dirty, &rules);
    assert_eq!(code, 4);
    let [inside, after] = [&found["rules"][0], &found["rules"][1]];
    assert_eq!([&inside["found"]["value"], &after["found"]["value"]], [2, 2], "{found:#}");
    assert!(has(inside, "steps_into_trouble") && has(inside, "main"), "{:?}", functions(inside));
    assert!(has(after, "unknown_leak"), "{:?}", functions(after));
    let calls = |finding: &Value, kind: &str| -> u64 {
        finding["stacks"].as_array().unwrap().iter().map(|s| s["calls"][kind].as_u64().unwrap()).sum()
    };
    assert_eq!([calls(inside, "allocations"), calls(inside, "frees")], [1, 1]);
    assert_eq!([calls(after, "allocations"), calls(after, "reallocs")], [1, 1]);

    // By thread: the section is of `control` alone, and what comes after the mark is not.
    assert_eq!(check(&dirty, &["--no-alloc-in", "control", "--thread", "cont*"]).0, 4);
    assert_eq!(check(&dirty, &["--no-alloc-after", "ready", "--thread", "control"]).0, 0);
    // A name that nobody said proves nothing.
    assert_eq!(check(&dirty, &["--no-alloc-in", "contrl"]).0, 3);
    assert_eq!(check(&dirty, &["--no-alloc-in", "control", "--thread", "other"]).0, 3);
    // What someone has looked at may pass.
    let known = place.path("known.supp");
    std::fs::write(&known, "alloc:steps_into_trouble\nalloc:^main$\n").unwrap();
    let (code, found) =
        check(&dirty, &["--no-alloc-in", "control", "--suppressions", known.to_str().unwrap()]);
    assert_eq!((code, &found["unused_suppressions"]), (0, &0.into()), "{found:#}");
}

#[test]
fn leaks_and_suppressions() {
    let (place, program) = built();
    let trace = recorded(&place, &program, "run.hst", &["leaks"], &[]);
    let known = place.path("known.supp");
    let suppressed = |lines: &str| {
        std::fs::write(&known, lines).unwrap();
        // libc keeps the storage of a thread: 288 bytes with glibc 2.36.
        let limits = ["--max-leaked", "999", "--max-leaked-per-stack", "4999"];
        let rules = [&limits[..], &["--suppressions", known.to_str().unwrap()]].concat();
        check(&trace, &rules)
    };
    let (code, found) = suppressed("# looked at\nleak:^known_le*k$\nleak:nobody\n");
    assert_eq!((code, &found["unused_suppressions"]), (4, &1.into()), "{found:#}");
    let [bytes, of_one] = [&found["rules"][0], &found["rules"][1]];
    assert_eq!([&bytes["verdict"], &of_one["verdict"]], ["broken", "broken"], "{found:#}");
    assert_eq!(of_one["found"]["value"], 5000, "{found:#}");
    assert!(has(of_one, "unknown_leak") && !has(bytes, "known_leak"));
    assert_eq!(found["suppressions"][0]["suppressed"], serde_json::json!({ "blocks": 1, "bytes": 100 }));
    // Found anywhere in a name, in the name of the source's file, in that of the program's.
    for lines in ["leak:known_leak", "leak:checked.c", "leak:/checked$"] {
        let (code, found) = suppressed(lines);
        let bytes = found["suppressions"][0]["suppressed"]["bytes"].as_u64().unwrap();
        assert!(code == 0 && bytes >= 5100, "{lines}: {found:#}");
    }
}

#[test]
fn growth_over_a_baseline() {
    let (place, program) = built();
    let old = recorded(&place, &program, "old.hst", &[], &[]);
    let same = recorded(&place, &program, "same.hst", &[], &[]);
    let grown = recorded(&place, &program, "grown.hst", &["more", "leaks"], &[]);
    let old = old.to_str().unwrap();
    let (code, found) = check(&same, &["--baseline", old]);
    assert_eq!(code, 0, "{found:#}");
    let (code, found) = check(&grown, &["--baseline", old, "--tolerance", "5%"]);
    assert_eq!(code, 4);
    let of = |rule: &str| found["rules"].as_array().unwrap().iter().find(|f| f["rule"] == rule).unwrap();
    let (peak, leaked) = (of("baseline peak"), of("baseline leaked"));
    assert_eq!([&peak["verdict"], &leaked["verdict"]], ["broken", "broken"], "{found:#}");
    assert_eq!(peak["stacks"][0]["growth"], 100_000);
    assert!(has(peak, "holds_much") && has(leaked, "unknown_leak"));
    assert_eq!(check(&grown, &["--baseline", old, "--tolerance", "10000%"]).0, 0);
}

#[test]
fn samples_prove_a_call_and_never_that_there_is_none() {
    let (place, program) = built();
    let clean = recorded(&place, &program, "clean.hst", &[], &["--sample", "64KiB"]);
    let (code, found) = check(&clean, &["--no-alloc-in", "control"]);
    assert_eq!((code, &found["verdict"]), (3, &"undecided".into()), "{found:#}");
    // Of one in 2^40 bytes none is hit.
    let unseen = recorded(&place, &program, "unseen.hst", &["allocates"], &["--sample", "1TiB"]);
    let (code, found) = check(&unseen, &["--no-alloc-in", "control"]);
    assert_eq!((code, &found["verdict"]), (3, &"undecided".into()), "{found:#}");
    // Samples of one byte hit every block.
    let dirty = recorded(&place, &program, "dirty.hst", &["allocates"], &["--sample", "1"]);
    assert_eq!(check(&dirty, &["--no-alloc-in", "control"]).0, 4);
}

/// Rules that the recorder was told are held without being told again, also when it stops the program.
#[test]
fn rules_of_the_recording_and_latencies() {
    let (place, program) = built();
    let rules = ["--latency", "--rt-section", "control", "--rt-thread", "cont*"];
    let dirty = recorded(&place, &program, "dirty.hst", &["allocates"], &rules);
    let (code, found) = check(&dirty, &[]);
    let inside = &found["rules"][0];
    assert_eq!((code, &inside["found"]["value"]), (4, &1.into()), "{found:#}");
    assert!(has(inside, "steps_into_trouble"));
    assert!(inside["stacks"][0]["worst_ns"].as_u64().is_some_and(|ns| ns > 0), "{found:#}");
    let clean = recorded(&place, &program, "clean.hst", &[], &rules);
    assert_eq!(check(&clean, &["--max-latency", "1h"]).0, 0);
    assert_eq!(check(&clean, &["--max-latency", "1ns"]).0, 4);

    let run = Run::new(&place, &program).args(["frees"]).options([&rules[..], &["--rt-abort"]].concat());
    assert_eq!(run.recorded().code, 128 + 6);
    let (code, found) = check(&run.trace(), &[]);
    let stopped = &found["rules"][0];
    assert_eq!((code, &stopped["stacks"][0]["calls"]["frees"]), (4, &1.into()), "{found:#}");
    assert_eq!(stopped["found"]["value"], 1, "{found:#}");
    assert!(has(stopped, "control"), "{:?}", functions(stopped));
}

#[test]
fn junit_is_read_by_another_reader() {
    let (place, program) = built();
    let trace = recorded(&place, &program, "run.hst", &["allocates"], &[]);
    let xml = place.path("check.xml");
    let rules = ["--no-alloc-in", "control", "--max-peak", "1GiB", "--no-alloc-after", "<never>"];
    let junit = ["--junit", xml.to_str().unwrap()];
    assert_eq!(check(&trace, &[&rules[..], &junit[..]].concat()).0, 4);
    if !support::has("python3") {
        skip("no python3 to read the document with");
        return;
    }
    let script = "import sys, xml.etree.ElementTree as e\n\
                  for c in e.parse(sys.argv[1]).getroot().iter('testcase'):\n\
                  \x20 print(c.get('classname'), c.get('name'), [k.tag for k in c])";
    let output = std::process::Command::new("python3").args(["-c", script]).arg(&xml).output().unwrap();
    let expected = "checked no-alloc-in control ['failure']\n\
                    all processes no-alloc-after <never> ['error']\n\
                    checked max-peak 1.00 GiB []\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

/// A runner of GitHub's takes apart what is printed so: `::LEVEL PROPERTY=VALUE,...::MESSAGE`.
#[test]
fn annotations_stand_at_the_line_that_allocates() {
    let (place, program) = built();
    let trace = recorded(&place, &program, "run.hst", &["allocates"], &[]);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut command = support::heapscribe();
    command.arg("check").arg(&trace).args(["--no-alloc-in", "control", "--format", "github"]);
    let output = command.env("GITHUB_WORKSPACE", &source).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let annotation = text.lines().find_map(|line| line.strip_prefix("::error ")).expect(&text);
    let (properties, message) = annotation.split_once("::").unwrap();
    let property = |name: &str| {
        let all = properties.split(',').filter_map(|one| one.split_once('='));
        all.clone().find(|(other, _)| *other == name).map(|(_, value)| value.to_owned())
    };
    assert_eq!(property("title").as_deref(), Some("heapscribe%3A no-alloc-in control"), "{annotation}");
    let (file, line) = (property("file").unwrap(), property("line").unwrap().parse::<usize>().unwrap());
    let source = std::fs::read_to_string(source.join(file)).unwrap();
    assert!(source.lines().nth(line - 1).unwrap().contains("malloc("), "{annotation}");
    assert!(message.contains("%0A") && message.contains("steps_into_trouble"), "{message}");
}

/// Numbers of stacks by the bytes that they are shown with.
fn numbered(text: &str) -> std::collections::BTreeMap<String, String> {
    let entries = text.lines().filter_map(|line| line.split_once(", stack "));
    let bytes = |text: &str| text.split(' ').find(|word| word.contains(',')).map(str::to_owned);
    entries.filter_map(|(figures, stack)| Some((bytes(figures)?, stack.to_owned()))).collect()
}

#[test]
fn a_stack_has_the_number_of_the_report() {
    let place = Place::new();
    let run = Run::new(&place, place.compile("holds.c")).options(["-q"]);
    assert_eq!(run.recorded().code, 0);
    let of = |words: &[&str]| {
        let output = heapscribe().args(words).arg(run.trace()).output().unwrap();
        numbered(&String::from_utf8(output.stdout).unwrap())
    };
    let (report, check) =
        (of(&["report", "--full"]), of(&["check", "--max-peak", "0", "--max-allocated", "0"]));
    let both: Vec<_> = check.iter().filter(|(bytes, _)| report.contains_key(*bytes)).collect();
    assert!(both.len() >= 2, "{report:?} {check:?}");
    both.iter().for_each(|(bytes, stack)| assert_eq!(report.get(*bytes), Some(*stack), "{bytes}"));
}
