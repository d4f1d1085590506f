//! Rules of real time: the first call that breaks one stops the program before its next statement, and what
//! it was is told by `record`, by the trace and by the report.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{Ended, Place, Report, Run, heapscribe, until};

fn program(place: &Place) -> PathBuf {
    let header = heapscribe().arg("header").output().unwrap().stdout;
    std::fs::write(place.path("heapscribe.h"), header).unwrap();
    let include = format!("-I{}", place.path("").display());
    place.compile_with("cc", "real_time.c", "real_time", &[&include])
}

fn recorded(place: &Place, what: &str, options: &[&str]) -> Ended {
    Run::new(place, program(place)).args([what]).options(options).recorded()
}

/// The program was stopped, by this call of this many bytes of this function.
#[track_caller]
fn stopped(place: &Place, ended: &Ended, rule: &str, call: &str, size: u64, caller: &str) {
    assert!(!ended.stdout.contains("after"), "{}", ended.stdout);
    let first = format!("error: a real-time rule was broken: {call} of {size} byte");
    assert!(ended.stderr.contains(&first), "{}", ended.stderr);
    assert!(ended.stderr.contains(caller), "{}", ended.stderr);
    let json = Report::of(&place.path("run.hst")).json;
    let told = json["real_time"]["stopped"].as_array().unwrap();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!((&told[0]["rule"], &told[0]["call"]), (&rule.into(), &call.into()), "{told:#?}");
    assert_eq!(told[0]["size"], size);
    assert_eq!(told[0]["frames"][0]["function"], caller);
}

/// What was recorded of the call: the event is in the trace.
fn has_allocation(place: &Place, size: u64) -> bool {
    let dump = Command::new(env!("CARGO_BIN_EXE_heapscribe")).arg("dump").arg(place.path("run.hst")).output();
    let lines = String::from_utf8(dump.unwrap().stdout).unwrap();
    lines.lines().any(|line| line.contains(&format!("+ {size} - ")))
}

#[test]
fn the_first_call_in_a_section_is_the_last() {
    let place = Place::new();
    let ended = recorded(&place, "malloc", &["--rt-section", "loop", "--rt-abort"]);
    assert_eq!(ended.code, 134, "{}", ended.stderr);
    stopped(&place, &ended, "section", "malloc", 777, "slow_step");
    assert!(has_allocation(&place, 777));
    let ended = recorded(&place, "free", &["--rt-section", "other", "--rt-section", "loop", "--rt-abort"]);
    assert_eq!(ended.code, 134);
    stopped(&place, &ended, "section", "free", 55, "give_back");
}

#[test]
fn the_first_call_after_a_mark_is_the_last() {
    let place = Place::new();
    let ended = recorded(&place, "malloc", &["--rt-after-init", "--rt-abort"]);
    assert_eq!(ended.code, 134, "{}", ended.stderr);
    stopped(&place, &ended, "mark", "malloc", 777, "slow_step");
    let ended = recorded(&place, "malloc", &["--rt-after-init=another", "--rt-abort"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "after\n"));
}

/// A handler of SIGABRT runs, and does not save the program; neither does SIG_IGN.
#[test]
fn handlers_run_and_the_program_ends_all_the_same() {
    let place = Place::new();
    for (what, said) in [("handled", "handler\n"), ("ignored", "")] {
        let ended = recorded(&place, what, &["--rt-section", "loop", "--rt-abort"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (134, said), "{what}");
        stopped(&place, &ended, "section", "malloc", 777, "slow_step");
    }
}

#[test]
fn rules_hold_for_the_threads_that_they_name() {
    let place = Place::new();
    let threads = |options: &[&str]| recorded(&place, "threads", options);
    let ended = threads(&["--rt-section", "loop", "--rt-thread", "rt_*", "--rt-abort"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (134, "ordinary\n"), "{}", ended.stderr);
    stopped(&place, &ended, "section", "malloc", 10, "slow_step");
    let ended = threads(&["--rt-thread", "nobody", "--rt-thread", "rt_control", "--rt-abort"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (134, "ordinary\n"));
    stopped(&place, &ended, "thread", "malloc", 10, "slow_step");
    let ended = threads(&["--rt-section", "loop", "--rt-thread", "nobody", "--rt-abort"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "ordinary\nrt_control\n"));
}

/// A child is a process of its own: it is stopped, its parent learns of it and goes on.
#[test]
fn a_child_is_stopped_alone() {
    let place = Place::new();
    let ended = recorded(&place, "child", &["--rt-section", "loop", "--rt-abort"]);
    assert_eq!(ended.code, 6, "{}", ended.stderr);
    stopped(&place, &ended, "section", "malloc", 777, "slow_step");
}

#[test]
fn a_mark_from_outside_counts_like_the_programs_own() {
    let place = Place::new();
    let run = Run::new(&place, program(&place)).args(["outside"]);
    let started = run.options(["--rt-after-init=now", "--rt-abort"]).start();
    until("the program is ready", || started.said().0 == "ready\n");
    let pid = || {
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", started.child.id()));
        children.unwrap_or_default().split_whitespace().next().map(str::to_owned)
    };
    let pid = pid().expect("the recorded program");
    // The program is stopped before the drainer can say that it took the mark: either is well.
    heapscribe().args(["ctl", &pid, "mark", "now"]).output().unwrap();
    let ended = started.wait();
    assert_eq!(ended.code, 134, "{}", ended.stderr);
    let json = Report::of(&place.path("run.hst")).json;
    assert_eq!(json["real_time"]["stopped"][0]["rule"], "mark");
}

/// Without --rt-abort the program goes on, and the trace keeps the rules.
#[test]
fn rules_stay_in_the_trace() {
    let place = Place::new();
    let options = ["--rt-section", "loop", "--rt-after-init=ready", "--rt-thread", "rt_*"];
    let ended = recorded(&place, "malloc", &options);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "after\n"));
    let told = |trace: &str| Report::of(&place.path(trace)).json["real_time"].clone();
    let none = serde_json::json!({"allocations": 0, "reallocs": 0, "frees": 0, "failed": 0});
    let rule = |rule: &str, of: &str| serde_json::json!({"rule": rule, "of": of, "threads": ["rt_*"], "entered": 0, "calls": none});
    let rules = [rule("no-alloc-in", "loop"), rule("no-alloc-after", "ready")];
    let expected = serde_json::json!({
        "sections": ["loop"], "after_mark": "ready", "threads": ["rt_*"], "rules": rules, "stopped": []
    });
    assert_eq!(told("run.hst"), expected);
    let (trace, part) = (place.path("run.hst"), place.path("part.hst"));
    let subsampled = heapscribe().arg("subsample").arg(&trace).args(["--to", "9s", "-o"]).arg(&part).output();
    assert!(subsampled.unwrap().status.success());
    assert_eq!(told("part.hst"), expected);
}

/// The report counts the calls that broke each rule.
#[test]
fn broken_rules_are_counted() {
    let place = Place::new();
    let ended = recorded(&place, "malloc", &["--rt-section", "loop", "--rt-section", "other"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let rules = Report::of(&place.path("run.hst")).json["real_time"]["rules"].clone();
    let calls = |n: usize| ["allocations", "frees"].map(|kind| rules[n]["calls"][kind].as_u64().unwrap());
    assert_eq!(
        (&rules[0]["of"], &rules[0]["entered"], calls(0)),
        (&"loop".into(), &1.into(), [1, 0]),
        "{rules}"
    );
    assert_eq!((&rules[1]["of"], calls(1)), (&"other".into(), [0, 0]), "{rules}");
}

#[test]
fn rules_want_every_call() {
    let place = Place::new();
    for (options, what) in [
        (&["--rt-section", "x", "--sample", "1KiB"][..], "need every call"),
        (&["--rt-after-init", "--mode", "off"], "need every call"),
        (&["--rt-section", "x", "--format", "memtrace"], "the memtrace format cannot store"),
        (&["--latency", "--format", "memtrace"], "the memtrace format cannot store"),
        (&["--track-mmap", "--format", "memtrace"], "the memtrace format cannot store mappings"),
        (
            &["--memory-map", "every=1s", "--format", "memtrace"],
            "the memtrace format cannot store a memory map",
        ),
        (&["--rt-abort"], "needs a rule"),
    ] {
        let ended = recorded(&place, "kinds", options);
        assert_eq!(ended.code, 125, "{options:?}");
        assert!(ended.stderr.contains(what) && ended.stderr.contains("hint:"), "{}", ended.stderr);
    }
}
