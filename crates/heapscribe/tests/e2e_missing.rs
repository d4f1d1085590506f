//! What is missing from a recording: figures that it touches are the truth all the same, or bounds contain it.

mod support;

use std::path::Path;

use serde_json::Value;
use support::{Place, Report, Run, heapscribe};

/// The lines of what `report` prints that contain this.
fn lines(trace: &Path, what: &str) -> String {
    let output = heapscribe().arg("report").arg(trace).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|line| line.contains(what)).collect::<Vec<_>>().join("\n")
}

/// The exit code of `check` with a rule, and what it says.
fn check(trace: &Path, rule: [&str; 2]) -> (i32, String) {
    let output = heapscribe().arg("check").arg(trace).args(rule).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

/// Of a stack of the program itself, by its function.
fn stack<'a>(report: &'a Report, function: &str) -> &'a Value {
    let stacks = report.json["stacks"].as_array().unwrap();
    let is_of = |stack: &&Value| stack["frames"][0]["function"] == function;
    stacks.iter().find(is_of).unwrap_or_else(|| panic!("no stack of {function}"))
}

fn bytes_and_blocks(amount: &Value) -> (u64, u64) {
    (amount["bytes"].as_u64().unwrap(), amount["blocks"].as_u64().unwrap())
}

#[test]
fn a_ring_says_what_was_never_freed() {
    let place = Place::new();
    let program = place.compile("replaces.c");
    let run = Run::new(&place, program).args(["400000"]).options(["--ring", "1MiB"]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    // Besides what the program counts there is stdout's buffer.
    let mut truth = ended.stdout.split_whitespace().map(|n| n.parse::<u64>().unwrap());
    let (blocks, bytes) = (truth.next().unwrap(), truth.next().unwrap());
    let report = Report::of(&run.trace());
    assert_eq!((report.code, report.dropped("total")), (0, 0), "{}", report.stderr);
    assert!(report.json["ring"]["events"].as_u64().unwrap() > 100_000);
    let of_functions =
        ["one", "another"].map(|function| bytes_and_blocks(&stack(&report, function)["leaked"]));
    assert_eq!(
        (of_functions[0].0 + of_functions[1].0, of_functions[0].1 + of_functions[1].1),
        (bytes, blocks)
    );
    assert!(stack(&report, "one")["leaked"]["oldest_ns"].as_u64().unwrap() > 0);

    let (all_bytes, all_blocks) = bytes_and_blocks(&report.json["leaked"]);
    assert!(all_blocks > blocks && all_bytes > bytes);
    let shown = |n: u64| {
        let digits = n.to_string();
        let of_digit = |(i, c): (usize, char)| {
            let is_group = i > 0 && (digits.len() - i).is_multiple_of(3);
            if is_group { format!(",{c}") } else { c.to_string() }
        };
        digits.chars().enumerate().map(of_digit).collect::<String>()
    };
    for said in [&ended.stderr, &lines(&run.trace(), "Never freed")] {
        let expected = [format!("{} bytes", shown(all_bytes)), format!("{} blocks", shown(all_blocks))];
        assert!(expected.iter().all(|part| said.contains(part)), "{expected:?} in {said}");
    }
    // The heap is level for the whole run, so that the peak is little more than what is left, and of both stacks.
    let peak = report.json["peak"]["bytes"].as_u64().unwrap();
    assert!((all_bytes..all_bytes * 11 / 10).contains(&peak), "{peak} at the peak, {all_bytes} left");
    let at_peak = ["one", "another"].map(|function| bytes_and_blocks(&stack(&report, function)["peak"]).0);
    assert!(at_peak[0].abs_diff(at_peak[1]) < peak / 5, "{at_peak:?}");
    assert_eq!(report.json["bounds"]["peak"]["bytes"]["high"], Value::Null);
    let limit = all_bytes.to_string();
    assert_eq!(check(&run.trace(), ["--max-leaked", &limit]).0, 0);
    assert_eq!(check(&run.trace(), ["--max-peak", "100MiB"]).0, 3, "it may have been larger before");
    assert_eq!(check(&run.trace(), ["--max-peak", &limit]).0, 4);
}

#[test]
fn blocks_without_a_slot_are_told_as_bounds() {
    let place = Place::new();
    let program = place.compile("scattered.c");
    let script = format!("ulimit -v 70000; exec {}", program.display());
    let run = Run::new(&place, "sh").args(["-c", &script]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = Report::of(&run.trace());
    assert!(report.dropped("live_table") > 1000, "{:?}", report.reasons());
    assert_eq!(report.code, 3);
    let kept = 27 * 2700;
    let of = |bounds: &Value, what: &str| {
        let range = &bounds[what]["bytes"];
        (range["low"].as_u64().unwrap(), range["high"].as_u64().unwrap())
    };
    for bounds in [&report.json["bounds"], &stack(&report, "main")["bounds"]] {
        let (low, high) = of(bounds, "leaked");
        assert!(low <= kept + 10_000 && kept <= high && low < high / 10, "{bounds}");
        let (low, high) = of(bounds, "peak");
        assert!(low <= 54_000_000 && 54_000_000 <= high, "{bounds}");
    }
    let said = lines(&run.trace(), "Never freed");
    assert!(said.contains("between"), "{said}");
    assert!(ended.stderr.contains("not freed: between"), "{}", ended.stderr);
    let (code, said) = check(&run.trace(), ["--max-leaked", "1MiB"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("were not followed"), "{said}");
    assert_eq!(check(&run.trace(), ["--max-leaked", "100MiB"]).0, 0, "both bounds are below the limit");
}
