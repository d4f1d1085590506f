//! How long calls take: every call is told, the longest with its stack, and the program notices nothing.
//! No test says how long anything may take, only how long it took at least.

use std::path::PathBuf;

use crate::support::{Place, Report, Run, heapscribe};
use serde_json::Value;

/// The program with `heapscribe.h`.
fn program(place: &Place) -> PathBuf {
    let header = heapscribe().arg("header").output().unwrap().stdout;
    std::fs::write(place.path("heapscribe.h"), header).unwrap();
    let include = format!("-I{}", place.path("").display());
    place.compile_with("cc", "real_time.c", "real_time", &[&include])
}

fn slow_heap(place: &Place) -> PathBuf {
    place.library("slow_heap.c", "slow_heap.so", &[])
}

/// Calls by kind as the latency tells them.
fn timed(report: &Report) -> Vec<(String, u64)> {
    let kinds = report.json["latency"].as_array().unwrap().iter();
    kinds.map(|kind| (kind["call"].as_str().unwrap().to_owned(), kind["count"].as_u64().unwrap())).collect()
}

#[track_caller]
fn every_call_is_timed(report: &Report) {
    let calls = &report.json["calls"];
    for (kind, count) in timed(report) {
        assert_eq!(calls[&kind], count, "{kind}");
    }
    let all: u64 = timed(report).iter().map(|(_, count)| count).sum();
    assert_eq!(calls["total"], all);
}

fn functions(frames: &Value) -> Vec<&str> {
    frames.as_array().unwrap().iter().filter_map(|frame| frame["function"].as_str()).collect()
}

#[test]
fn every_call_of_each_kind_is_timed_and_errno_stays() {
    let place = Place::new();
    let ended = Run::new(&place, program(&place)).args(["kinds"]).options(["--latency"]).recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = Report::of(&place.path("run.hst"));
    report.assert_whole(&[]);
    every_call_is_timed(&report);
    let kinds: Vec<_> = timed(&report).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["malloc", "calloc", "realloc", "aligned", "free"]);
    for kind in report.json["latency"].as_array().unwrap() {
        let percentiles = ["min_ns", "p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns"];
        let figures: Vec<u64> = percentiles.iter().map(|name| kind[*name].as_u64().unwrap()).collect();
        assert!(figures.is_sorted() && figures[0] > 0, "{kind}");
    }
    let timed_in_steps = report.json["timeline"]["steps"].as_array().unwrap().iter();
    let timed_in_steps: u64 = timed_in_steps.filter_map(|step| step["timed"]["calls"].as_u64()).sum();
    assert_eq!(report.json["calls"]["total"], timed_in_steps);
}

#[test]
fn without_the_wish_nothing_is_timed() {
    let place = Place::new();
    Run::new(&place, program(&place)).args(["kinds"]).recorded();
    assert!(Report::of(&place.path("run.hst")).json.get("latency").is_none());
}

#[test]
fn threads_and_children_are_timed() {
    let place = Place::new();
    for (what, processes) in [("threads", 1), ("child", 2)] {
        let run = Run::new(&place, program(&place)).args([what]).options(["--latency"]);
        assert_eq!(run.recorded().code, 0);
        let report = Report::of(&place.path("run.hst"));
        every_call_is_timed(&report);
        assert_eq!(report.processes().len(), processes, "{what}");
    }
}

/// A heap that naps for blocks of known sizes: its calls are among the longest, with the stack that asked; of a
/// free that is the stack that asked for the block. (A call that loses its core may take longer than the nap.)
/// A free in which a handler calls the heap is not timed.
#[test]
fn a_slow_heap_is_found_by_its_stack() {
    let place = Place::new();
    let run = Run::new(&place, program(&place)).args(["slow"]).options(["--latency"]);
    let ended = run.env("LD_PRELOAD", slow_heap(&place)).recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = Report::of(&place.path("run.hst"));
    for (kind, call, size, caller) in [(0, "malloc", 4242, "slow_step"), (1, "free", 2424, "slow")] {
        let kind = &report.json["latency"][kind];
        let all_worst = kind["worst"].as_array().unwrap();
        let took = |worst: &Value| worst["took_ns"].as_u64().unwrap();
        assert!(all_worst.iter().map(took).is_sorted_by(|a, b| a >= b), "{kind}");
        let worst = all_worst.iter().find(|worst| worst["size"] == size).unwrap_or_else(|| panic!("{kind}"));
        assert_eq!(worst["call"], call, "{kind}");
        assert!(took(worst) >= 5_000_000, "{worst}");
        assert_eq!(functions(&worst["frames"])[0], caller);
        assert_eq!(kind["max_ns"].as_u64().unwrap(), took(&all_worst[0]), "{kind}");
    }
    assert_eq!(report.reasons(), [("untimed".to_owned(), 1)]);
    let free = report.json["latency"][1]["count"].as_u64().unwrap();
    assert_eq!(report.json["calls"]["free"], free + 1);
}

/// A handler leaves a timed free by siglongjmp: that has no time, and all after it have theirs.
#[test]
fn a_call_that_is_left_by_siglongjmp_is_not_timed() {
    let place = Place::new();
    let run = Run::new(&place, program(&place)).args(["jump"]).options(["--latency"]);
    let ended = run.env("LD_PRELOAD", slow_heap(&place)).recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = Report::of(&place.path("run.hst"));
    let count = |call: &str| timed(&report).iter().find(|(kind, _)| kind == call).map(|(_, n)| *n).unwrap();
    assert_eq!(report.json["calls"]["free"], count("free") + 1);
    assert_eq!(report.json["calls"]["malloc"], count("malloc"));
}

#[test]
fn samples_are_timed_and_a_ring_keeps_times() {
    let place = Place::new();
    for options in [&["--sample", "64"][..], &["--ring", "64MiB"]] {
        let ended = Run::new(&place, program(&place))
            .args(["kinds"])
            .options(options)
            .options(["--latency"])
            .recorded();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let report = Report::of(&place.path("run.hst"));
        let all: u64 = timed(&report).iter().map(|(_, count)| count).sum();
        assert!(all > 0, "{options:?}");
    }
}

/// Each event's line has its time; what is thinned out goes with its time, and what has no place for times
/// says so.
#[test]
fn times_are_dumped_thinned_and_missed() {
    let place = Place::new();
    Run::new(&place, program(&place)).args(["kinds"]).options(["--latency"]).recorded();
    let run = |args: &[&str]| {
        let mut command = heapscribe();
        let parts = args.iter().map(|arg| match *arg {
            name if name.contains('.') => place.path(name).into_os_string(),
            other => other.into(),
        });
        let output = command.args(parts).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (text(output.stdout), text(output.stderr))
    };
    let (lines, _) = run(&["dump", "run.hst"]);
    let events: Vec<_> = lines.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(!events.is_empty() && events.iter().all(|line| line.contains(" took=")), "{events:#?}");
    assert!(run(&["report", "--full", "run.hst"]).0.contains("\nLatency of allocation calls\n"));
    run(&["plot", "run.hst", "-o", "out.svg"]);
    let picture = std::fs::read_to_string(place.path("out.svg")).unwrap();
    for text in ["Latency of calls", "longest", "mean"] {
        assert!(picture.contains(text), "{text}");
    }
    let (objects, _) = run(&["dump", "--json", "run.hst"]);
    let took = objects.lines().filter(|line| line.contains("\"took\":")).count();
    assert_eq!(took, events.len());

    run(&["subsample", "run.hst", "--from", "0s", "--to", "1000s", "-o", "all.hst"]);
    assert_eq!(
        Report::of(&place.path("all.hst")).json["latency"],
        Report::of(&place.path("run.hst")).json["latency"]
    );
    run(&["subsample", "run.hst", "--from", "0s", "--to", "0s", "-o", "none.hst"]);
    assert!(!run(&["dump", "none.hst"]).0.contains("took="));
    let (_, said) = run(&["convert", "run.hst", "--to", "memtrace", "-o", "run.ctf"]);
    assert!(said.contains("latencies, which a memtrace file cannot store: "), "{said}");
}
