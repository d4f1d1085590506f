//! `record --clock coarse`: fewer readings of the clock, and the same figures. What two threads or processes did is in the
//! order in which they did it, from the first event of the second on.

use std::path::Path;

use crate::support::{Place, Report, Run, heapscribe};
use serde_json::Value;

const MIB: u64 = 1 << 20;

fn number(json: &Value, pointer: &str) -> u64 {
    json.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {pointer}"))
}

/// The report of a program under this clock.
#[track_caller]
fn recorded(place: &Place, program: &Path, args: &[&str], clock: &str) -> Report {
    let run = Run::new(place, program).args(args).options(["--clock", clock]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = Report::of(&run.trace());
    report.assert_whole(&[]);
    report
}

/// Sizes and counts, of all and of each stack, which no time is in.
fn without_times(report: &Report) -> Vec<Value> {
    let all = ["allocations", "bytes_allocated", "frees", "bytes_freed", "leaked", "temporary", "histogram"];
    let mut figures: Vec<Value> = all.map(|key| report.json[key].clone()).into();
    figures.extend(["/peak/bytes", "/peak/blocks"].map(|at| report.json.pointer(at).unwrap().clone()));
    let of_stack = |stack: &Value| {
        let keys = ["count", "bytes", "peak", "leaked", "temporary", "freed", "size"];
        Value::from_iter(keys.map(|key| stack[key].clone()))
    };
    let mut stacks: Vec<Value> = report.json["stacks"].as_array().unwrap().iter().map(of_stack).collect();
    stacks.sort_by_key(ToString::to_string);
    figures.extend(stacks);
    figures
}

#[test]
fn sizes_and_counts_are_those_of_the_precise_clock() {
    let place = Place::new();
    let program = place.compile("turns.c");
    let trace_bytes = || std::fs::metadata(place.path("run.hst")).unwrap().len();
    let precise = recorded(&place, &program, &["alone", "0"], "precise");
    let precise_bytes = trace_bytes();
    let coarse = recorded(&place, &program, &["alone", "0"], "coarse");
    assert_eq!(without_times(&coarse), without_times(&precise));
    assert!(precise.json.get("early_times").is_none());
    let early_ns = number(&coarse.json, "/early_times/ns");
    assert!((1_000_000..=10_000_000).contains(&early_ns), "{early_ns}");
    assert_eq!(coarse.json.pointer("/early_times/until_ns"), None, "nobody else has begun");
    let part = Report::with(&["--from", "1ms"], &place.path("run.hst"));
    assert_eq!(part.json["early_times"], coarse.json["early_times"]);
    // Other formats have no word for it; folded stacks have no times.
    for (format, is_told) in
        [("memtrace", true), ("parquet", true), ("chrome-trace", true), ("folded", false)]
    {
        let to = place.path(format);
        let command = heapscribe()
            .arg("convert")
            .arg(place.path("run.hst"))
            .args(["--to", format, "-o"])
            .arg(&to)
            .output();
        let said = String::from_utf8(command.unwrap().stderr).unwrap();
        assert_eq!(said.contains("early"), is_told, "{format}: {said}");
    }
    // A tick for each event takes less room than what it really took.
    assert!(trace_bytes() < precise_bytes, "{} of {precise_bytes}", trace_bytes());
}

/// Two who take turns never hold a block at the same time, whoever they are. (By the precise clock processes did, as the
/// times of each were counted from its own beginning.)
#[track_caller]
fn check(other: &str, clock: &str) {
    let place = Place::new();
    let program = place.compile("turns.c");
    let report = recorded(&place, &program, &[other, "3000"], clock);
    let peak = number(&report.json, "/peak/bytes");
    assert!((MIB..MIB + MIB / 2).contains(&peak), "{other}: {peak} bytes at the peak");
    if clock == "precise" {
        return;
    }
    let until_ns = number(&report.json, "/early_times/until_ns");
    assert!(until_ns > 0 && until_ns <= number(&report.json, "/duration_ns"), "{other}: {until_ns}");
}

#[test]
fn blocks_of_two_in_turn_are_never_there_at_a_time() {
    for other in ["thread", "fork", "spawn", "spin"] {
        check(other, "coarse");
        check(other, "precise");
    }
}

#[test]
fn a_program_that_a_script_becomes_is_alone_as_before() {
    let place = Place::new();
    let program = place.compile("turns.c");
    let script = format!("exec {} alone 0", program.display());
    let report = recorded(&place, Path::new("/bin/sh"), &["-c", &script], "coarse");
    assert_eq!(report.processes().len(), 2);
    assert_eq!(report.json.pointer("/early_times/until_ns"), None);
}

/// When a second process begins is known by its beginning: the first may have no further event.
#[test]
fn times_are_early_until_the_second_process_begins() {
    let place = Place::new();
    let program = place.compile("turns.c");
    let script = format!("{0} alone 0; sleep 0.3; true", program.display());
    let report = recorded(&place, Path::new("/bin/sh"), &["-c", &script], "coarse");
    let until_ns = number(&report.json, "/early_times/until_ns");
    let begins: Vec<u64> = report.processes().iter().map(|process| number(process, "/begin_ns")).collect();
    assert!(begins.len() > 2 && until_ns == begins[1], "{until_ns} of {begins:?}");
}
