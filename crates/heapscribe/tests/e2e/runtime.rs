//! What runtime libraries keep until the end is no leak of the program: hello in C, C++ and Rust.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{Place, Report, Run, heapscribe, skip};

/// Records a program, and gives its place with the trace.
fn recorded(build: impl Fn(&Place) -> PathBuf) -> (Place, PathBuf) {
    let place = Place::new();
    let program = build(&place);
    let run = Run::new(&place, &program);
    let ended = run.recorded();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "hello\n"), "{}", ended.stderr);
    let summary: Vec<_> = ended.stderr.lines().filter(|line| !line.contains("recording into")).collect();
    assert!(summary.len() <= 5, "a summary is short: {summary:?}");
    let trace = run.trace();
    (place, trace)
}

/// What a command prints of the trace, and its exit code.
fn output_of(args: &[&str], trace: &PathBuf) -> (Option<i32>, String) {
    let output = heapscribe().args(args).arg(trace).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

fn check(purpose: &str, build: impl Fn(&Place) -> PathBuf) {
    let (_place, trace) = recorded(build);
    let (code, text) = output_of(&["check", "--max-leaked", "0", "--max-leaked-blocks", "0"], &trace);
    assert!(code == Some(0) && text.contains(purpose), "{text}");
    let (code, text) = output_of(&["check", "--max-leaked", "0", "--count-runtime"], &trace);
    assert!(code == Some(4) && !text.contains(purpose), "{text}");
    let (_, text) = output_of(&["report", "--full"], &trace);
    let leaked = text.split("\nLeaked\n").nth(1).unwrap().split("\n\n").next().unwrap();
    assert!(leaked.contains("runtime libraries keep") && leaked.contains(purpose), "{leaked}");
    assert!(!leaked.contains("   1. "), "the list is empty: {leaked}");
    assert!(!leaked.contains(" old"), "ages are for leaks: {leaked}");
    let json = Report::of(&trace).json;
    let kept = &json["kept_by_runtime"];
    assert_eq!((&kept["blocks"], &kept["bytes"]), (&json["leaked"]["blocks"], &json["leaked"]["bytes"]));
    let purposes = kept["purposes"].as_array().unwrap();
    let of_purpose = purposes.iter().find(|of| of["purpose"] == purpose).unwrap_or_else(|| panic!("{kept}"));
    let stacks = of_purpose["stacks"].as_array().unwrap().iter().map(|id| {
        let stack = json["stacks"].as_array().unwrap().iter().find(|stack| stack["id"] == *id).unwrap();
        stack["leaked"]["bytes"].as_u64().unwrap()
    });
    assert_eq!(stacks.sum::<u64>(), of_purpose["bytes"].as_u64().unwrap());
}

#[test]
fn a_trace_that_is_thrown_away_has_no_next_command() {
    let place = Place::new();
    let mut record = heapscribe();
    record.args(["record", "-o", "/dev/null", "--"]).arg(place.compile("hello.c"));
    let said = String::from_utf8(record.output().unwrap().stderr).unwrap();
    assert!(said.contains("trace: /dev/null") && !said.contains("next:"), "{said}");
}

#[test]
fn hello_in_c_leaks_nothing() {
    check("buffers of stdio", |place| place.compile("hello.c"));
}

/// Names of libc's own functions are in no file without its debug information (libc6-dbg).
#[test]
fn a_name_that_is_resolved_leaks_nothing() {
    if !std::path::Path::new("/usr/lib/debug/.build-id").exists() {
        return skip(format_args!("libc6-dbg is not there"));
    }
    check("users and hosts", |place| place.compile("resolves.c"));
}

#[test]
fn hello_in_cpp_leaks_nothing() {
    check("memory for C++ exceptions", |place| place.compile("hello.cpp"));
}

#[test]
fn hello_in_rust_leaks_nothing() {
    check("Rust's main thread", |place| {
        let program = place.path("hello");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/hello.rs");
        let status = Command::new("rustc").args(["-O", "-o"]).arg(&program).arg(source).status().unwrap();
        assert!(status.success());
        program
    });
}

#[test]
fn a_leak_beside_them_is_one() {
    let (_place, trace) = recorded(|place| place.compile("hello_leak.c"));
    let (code, text) = output_of(&["check", "--max-leaked", "0"], &trace);
    assert!(code == Some(4) && text.contains("1,000 bytes in 1 block"), "{text}");
    let (code, _) = output_of(&["check", "--max-leaked", "1000"], &trace);
    assert_eq!(code, Some(0));
}
