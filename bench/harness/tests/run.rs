//! The harness from end to end, in short: that what it prints has its fields and that its counts are right.
//! No time is asserted.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Runs the harness; what it printed.
fn bench(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_heapscribe-bench")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// A corpus with these programs.
fn corpus(manifest: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("manifest"), manifest).unwrap();
    directory
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_slice(&bench(arguments).stdout).unwrap()
}

/// The built heapscribe, if tests of the whole workspace have built it; else the harness does.
fn built_heapscribe() -> Vec<String> {
    let here = Path::new(env!("CARGO_BIN_EXE_heapscribe-bench")).with_file_name("heapscribe");
    if here.exists() { vec!["--heapscribe".into(), here.display().to_string()] } else { Vec::new() }
}

/// What the table says of one tool of the first program.
fn of_tool<'a>(value: &'a Value, tool: &str) -> &'a Value {
    let tools = value["parts"]["corpus"][0]["tools"].as_array().unwrap();
    tools.iter().find(|of| of["tool"] == tool).unwrap()
}

#[test]
fn ls_has_all_its_figures() {
    let corpus = corpus("ls -- ls -lR {dir}\n");
    let place = corpus.path().display().to_string();
    let heapscribe = built_heapscribe();
    let mut arguments =
        vec!["corpus", "--corpus", &place, "--tools", "bare,count,heapscribe", "-n", "2", "--json"];
    arguments.extend(heapscribe.iter().map(String::as_str));
    let value = json(&arguments);
    for key in ["date", "commit", "cpu", "cores", "kernel", "load_before", "cores_busy_for_others"] {
        assert!(!value["machine"][key].is_null(), "{key}: {value}");
    }
    let program = &value["parts"]["corpus"][0];
    assert_eq!((program["name"].as_str(), program["recorded_calls"].is_u64()), (Some("ls"), true));
    for tool in ["bare", "count", "heapscribe"] {
        let of = of_tool(&value, tool);
        assert_eq!(of["output"], "same", "{of}");
        assert_eq!(of["runs"].as_array().unwrap().len(), 2);
        for key in ["program_cpu_s", "all_cpu_s", "all_wall_s", "peak_rss_kib"] {
            assert!(of["runs"][0][key].as_f64().unwrap() > 0.0, "{key}: {of}");
        }
    }
    assert!(of_tool(&value, "heapscribe")["runs"][0]["trace_bytes"].as_u64().unwrap() > 0);
    assert!(of_tool(&value, "heapscribe")["trace_bytes_per_call"].as_f64().unwrap() > 0.0);
}

/// Our programs do what they say: the compiler leaves no call out, and the counting library sees each.
#[test]
fn calls_are_those_that_the_programs_make() {
    let built = PathBuf::from(env!("CARGO_BIN_EXE_heapscribe-bench"));
    let built = built.parent().unwrap().with_file_name("bench").join("built").display().to_string();
    // Besides: the programs' own tables, their output's buffer, threads.
    let check = |command: &str, calls: u64| {
        let corpus = corpus(&format!("program -- {built}/{command}\n"));
        let place = corpus.path().display().to_string();
        let value = json(&["corpus", "--corpus", &place, "--tools", "bare,count", "-n", "1", "--json"]);
        assert_eq!(of_tool(&value, "count")["output"], "same", "{command}");
        let counted = value["parts"]["corpus"][0]["calls"].as_u64().unwrap();
        assert!((calls..calls + 3000).contains(&counted), "{command}: {counted} calls, expected {calls}");
    };
    check("deep pair 8 3 4 1000 20", 40_000);
    check("deep batch 20 0 1 1000 20", 40_000);
    check("deep realloc 8 0 1 1000 20", 20_000);
    check("larson 2 100000", 2 * (100_000 + 2000));
    check("producer_consumer 2 102400", 204_800);
    check("churn 2 100000", 200_000);
}

#[test]
fn a_program_that_fails_alone_is_told_so() {
    let corpus = corpus("fails -- sh -c 'echo nothing there >&2; exit 3'\n");
    let place = corpus.path().display().to_string();
    let output = bench(&["corpus", "--corpus", &place, "--tools", "bare,count", "-n", "1"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("same, exit 3"), "{text}");
}

#[test]
fn what_is_not_there_is_named() {
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_heapscribe-bench")).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let output = run(&["corpus", "--tools", "bare", "--programs", "emacs"]);
    assert!(output.contains("error: there is no program emacs; there are sqlite, perl"), "{output}");
    let output = run(&["corpus", "--tools", "bare", "--corpus", "/nonexistent"]);
    assert!(output.contains("error: /nonexistent/manifest can not be read"), "{output}");
}

#[test]
fn heaps_are_timed_and_weighed() {
    let value = json(&[
        "heaps",
        "--heaps",
        "glibc,tlsf",
        "--live",
        "200",
        "--threads",
        "1,2",
        "--operations",
        "2000",
        "--footprint-operations",
        "30000",
        "-n",
        "1",
        "--json",
    ]);
    let cases = value["parts"]["latency"].as_array().unwrap();
    assert_eq!(cases.len(), 6);
    for case in cases {
        for heap in ["glibc", "tlsf"] {
            let run = &case["runs"][heap][0];
            let seen = |call: &str| run[call]["calls"].as_u64().unwrap();
            assert_eq!(seen("malloc") + run["left_out"].as_u64().unwrap(), 2000, "{run}");
            assert_eq!(seen("malloc"), seen("free"));
        }
    }
    for case in value["parts"]["footprint"].as_array().unwrap() {
        let of = |heap: &str| case["runs"][heap][0]["peak"].as_f64().unwrap();
        assert!(of("glibc") > 0.0 && of("tlsf") > 0.0, "{case}");
    }
}

#[test]
fn a_soak_ends_well() {
    let output = bench(&["heap-soak", "--operations", "100000", "--live-mib", "4"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let last = text.lines().last().unwrap();
    assert!(last.contains(" 0 failed") && last.ends_with("check: Ok(())"), "{text}");
}
