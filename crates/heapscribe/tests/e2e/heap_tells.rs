//! What heaps tell of themselves: at the end of a run, to `ps` while it lasts, and in a trace.

use std::fs;
use std::process::Command;

use crate::support::{Ended, Place, Report, Run, Started, heapscribe, until};
use serde_json::Value;

/// Bytes that so many blocks of the program take in the pool: 8 for each, and sizes are whole words; the
/// difference is what libc itself allocates.
const BLOCK: u64 = 10_008;
const OF_LIBC: u64 = 40_000;

/// `run` with these arguments; statistics go to `stats.json`.
fn run(place: &Place, heap: &[&str], command: &[&str]) -> Command {
    let mut run = heapscribe();
    run.args(["run", "--heap"]).args(heap).arg("--stats").arg("--stats-json").arg(place.path("stats.json"));
    run.arg("--session-dir").arg(place.path("")).arg("--").args(command);
    run
}

fn small_pool<'a>() -> [&'a str; 5] {
    ["tlsf", "--pool", "4MiB", "--grow", "0"]
}

fn ended(place: &Place, heap: &[&str], command: &[&str]) -> (Ended, Value) {
    let ended = Started::new(run(place, heap, command), place, "run").wait();
    let stats = fs::read(place.path("stats.json")).unwrap();
    (ended, serde_json::from_slice(&stats).unwrap())
}

fn check_counts(heap: &Value, used_blocks: u64, peak_blocks: u64) {
    let counts = &heap["counts"];
    let number = |name: &str| counts[name].as_u64().unwrap();
    let near = |bytes: u64, blocks: u64| (BLOCK * blocks..BLOCK * blocks + OF_LIBC).contains(&bytes);
    assert_eq!(heap["name"], "tlsf");
    assert!(heap["configuration"].as_str().unwrap().contains("pool=4194304 grow=0"), "{heap}");
    assert!(near(number("used_bytes"), used_blocks), "{heap}");
    assert!(near(number("peak_bytes"), peak_blocks), "{heap}");
    assert!(number("pool_bytes") > 4_000_000 && number("pool_bytes") <= 4 << 20, "{heap}");
    assert_eq!(number("free_bytes"), number("pool_bytes") - number("used_bytes"), "{heap}");
    assert!(number("largest_free_bytes") < number("free_bytes"), "{heap}");
    assert_eq!((number("failures"), number("growths"), number("misuses")), (1, 0, 0), "{heap}");
}

#[test]
fn a_run_tells_at_its_end_what_was_used() {
    let place = Place::new();
    let program = place.compile("pool.c");
    let (ended, stats) = ended(&place, &small_pool(), &[program.to_str().unwrap()]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let processes = stats["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 1, "{stats}");
    assert_eq!(processes[0]["heap"]["is_last"], true);
    check_counts(&processes[0]["heap"], 100, 200);
    assert!(ended.stderr.contains("heap tlsf of pool (process"), "{}", ended.stderr);
    assert!(ended.stderr.contains(", at its end: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("1 request failed"), "{}", ended.stderr);
    let left = fs::read_dir(place.path("")).unwrap().flatten();
    let left: Vec<_> =
        left.map(|e| e.file_name()).filter(|n| n.to_string_lossy().contains("heapscribe.")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_forked_child_tells_for_itself() {
    let place = Place::new();
    let program = place.compile("pool.c");
    let (ended, stats) = ended(&place, &small_pool(), &[program.to_str().unwrap(), "fork"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let processes = stats["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 2, "{stats}");
    let is_child = |p: &&Value| processes.iter().any(|other| other["pid"] == p["parent_pid"]);
    let child = processes.iter().find(is_child).unwrap();
    let parent = processes.iter().find(|p| !is_child(p)).unwrap();
    check_counts(&child["heap"], 150, 200);
    check_counts(&parent["heap"], 100, 200);
}

#[test]
fn ps_shows_a_run_and_a_killed_program_told_before() {
    let place = Place::new();
    let program = place.compile("pool.c");
    let running =
        Started::new(run(&place, &small_pool(), &[program.to_str().unwrap(), "wait"]), &place, "run");
    until("it holds", || running.said().0.contains("held"));
    let asked = |words: &[&str]| {
        let output = heapscribe().args(words).arg("--session-dir").arg(place.path("")).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let ps = |options: &[&str]| asked(&[&["ps"], options].concat());
    let listed: Value = serde_json::from_str(&ps(&["--json"])).unwrap();
    let [row] = &listed.as_array().unwrap()[..] else { panic!("{listed}") };
    assert_eq!((&row["session"], &row["mode"]), (&Value::Null, &Value::from("not recorded")));
    check_counts(&row["heap"], 100, 200);
    let lines = ps(&[]);
    assert!(lines.contains("LARGEST") && lines.contains("tlsf") && lines.contains("not recorded"), "{lines}");
    let pid = row["pid"].as_i64().unwrap() as i32;
    for wanted in ["pool", &pid.to_string()] {
        let screen = asked(&["top", "--once", wanted]);
        assert!(screen.starts_with(&format!("pool ({pid}), not recorded, heap tlsf")), "{screen}");
        assert!(screen.contains("in 100 blocks") && screen.contains("resident "), "{screen}");
    }
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let ended = running.wait();
    assert_eq!(ended.code, 137);
    let stats: Value = serde_json::from_slice(&fs::read(place.path("stats.json")).unwrap()).unwrap();
    let heap = &stats["processes"][0]["heap"];
    assert_eq!(heap["is_last"], false);
    check_counts(heap, 100, 200);
    assert!(ended.stderr.contains("the process did not exit normally"), "{}", ended.stderr);
}

/// A program of few, large calls was seen with an empty pool until its 256th.
#[test]
fn a_large_request_is_told_of_at_once() {
    let place = Place::new();
    let program = place.compile("pool.c");
    let name = program.to_str().unwrap();
    for function in ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"] {
        let (ended, stats) = ended(&place, &small_pool(), &[name, "large", function]);
        assert_eq!(ended.code, 137, "{}", ended.stderr);
        let heap = &stats["processes"][0]["heap"];
        assert_eq!(heap["is_last"], false);
        let used = heap["counts"]["used_bytes"].as_u64().unwrap();
        assert!((1 << 20..(1 << 20) + OF_LIBC).contains(&used), "{function}: {heap}");
    }
}

#[test]
fn a_heap_that_is_not_ours_is_named_and_a_file_that_can_not_be_harms_nobody() {
    let place = Place::new();
    let program = place.compile("pool.c");
    let name = program.to_str().unwrap();
    let (_, stats) = ended(&place, &["system"], &[name]);
    assert_eq!(stats["processes"][0]["heap"]["name"], "system");
    assert_eq!(stats["processes"][0]["heap"]["counts"], Value::Null);
    // No file may have a byte.
    let (ended, stats) = ended(&place, &small_pool(), &["prlimit", "--fsize=0", name, "quiet"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let told: Vec<_> = stats["processes"].as_array().unwrap().iter().map(|p| p["exe"].to_string()).collect();
    assert!(!told.iter().any(|exe| exe.contains("pool")), "{told:?}");
}

#[test]
fn a_trace_has_the_pool_over_time() {
    let place = Place::new();
    let program = place.compile("pool.c");
    let options = ["--heap"].into_iter().chain(small_pool());
    let run = Run::new(&place, &program).options(options);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("heap tlsf of pool"), "{}", ended.stderr);
    let report = Report::of(&run.trace());
    let heap = &report.json["processes"][0]["heap"];
    check_counts(
        &serde_json::json!({
            "name": heap["name"], "configuration": heap["configuration"], "counts": heap["last"],
        }),
        100,
        200,
    );
    let steps = report.json["timeline"]["steps"].as_array().unwrap();
    assert!(
        steps.iter().any(|step| step["pool_bytes"].as_u64().unwrap() > 4_000_000),
        "{} steps",
        steps.len()
    );
    let said = |command: &[&str]| {
        let output = heapscribe().args(command).arg(run.trace()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = said(&["report", "--full"]);
    assert!(text.contains("Custom heap") && text.contains("1 request failed"), "{text}");
    assert!(said(&["dump"]).contains(" heap time="));
    let picture = place.path("pool.svg");
    said(&["plot", "-o", picture.to_str().unwrap()]);
    let picture = fs::read_to_string(picture).unwrap();
    for series in ["largest free block", "used in the pool"] {
        assert!(picture.contains(series), "{series}");
    }
}
