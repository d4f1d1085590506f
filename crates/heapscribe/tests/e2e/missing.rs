//! What is missing from a recording: figures that it touches are the truth all the same, or bounds contain it.

use std::path::Path;

use crate::support::{Place, Report, Run, heapscribe};
use serde_json::Value;

/// The lines of what `report` prints that contain this.
fn lines(trace: &Path, what: &str) -> String {
    let output = heapscribe().args(["report", "--full"]).arg(trace).output().unwrap();
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

/// Without symbols the heading of an entry is its place, which stood below it once more.
#[test]
fn a_place_without_symbols_is_printed_once() {
    let place = Place::new();
    let program = place.compile_with("cc", "two_callers.c", "two_callers", &["-O0", "-s"]);
    let run = Run::new(&place, &program);
    assert_eq!(run.recorded().code, 0);
    let parts = lines(&run.trace(), " from two_callers+0x");
    assert!(parts.contains("66.7 % from ") && parts.contains("33.3 % from "), "{parts}");
    assert_eq!(lines(&run.trace(), " all at "), "");
}

#[test]
fn a_ring_says_what_was_never_freed() {
    let place = Place::new();
    let program = place.compile("replaces.c");
    let run = Run::new(&place, program).args(["250000"]).options(["--ring", "1MiB"]);
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
    // One thread: its peak is known, also where it was before the ring.
    let whole = report.json["bounds"]["peak"]["bytes"]["high"].as_u64().unwrap();
    assert!((peak..all_bytes * 11 / 10).contains(&whole), "{whole} in all, {peak} in the ring");
    let limit = all_bytes.to_string();
    assert_eq!(check(&run.trace(), ["--max-leaked", &limit]).0, 0);
    assert_eq!(check(&run.trace(), ["--max-peak", "100MiB"]).0, 0);
    assert_eq!(check(&run.trace(), ["--max-peak", &limit]).0, 4);
}

/// What `check` finds when nothing is allowed.
fn findings(trace: &Path) -> Value {
    let rules = ["--max-peak", "--max-leaked", "--max-leaked-blocks", "--max-allocations"];
    let mut command = heapscribe();
    command.arg("check").arg(trace).args(["--count-runtime", "--json"]);
    command.args(rules.iter().flat_map(|rule| [*rule, "1"]));
    serde_json::from_slice(&command.output().unwrap().stdout).unwrap()
}

/// The figure of a rule in a process, or of those that a ring has evicted: what is found, at least and at most.
fn found(findings: &Value, rule: &str, is_of: impl Fn(&str) -> bool) -> (Option<u64>, Option<u64>) {
    let is_wanted = |of: &&Value| of["rule"] == rule && of["process"]["program"].as_str().is_some_and(&is_of);
    let rules = findings["rules"].as_array().unwrap();
    let found = &rules.iter().rev().find(is_wanted).expect("a finding")["found"];
    (found["low"].as_u64(), found["high"].as_u64())
}

/// Twelve children in turn, of which a ring evicts the first completely: it has leaked most by far.
#[test]
fn processes_that_a_ring_has_evicted_are_in_every_figure() {
    let (children, rounds) = (12u64, 80_000u64);
    let place = Place::new();
    let program = place.compile("family.c");
    let run = Run::new(&place, program).args([&children.to_string(), &rounds.to_string()]);
    let run = run.options(["--ring", "1MiB"]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = Report::of(&run.trace());
    let json = &report.json;
    let evicted = json["ring"]["processes"].as_u64().unwrap();
    assert!(evicted > 0, "the first child is evicted");
    let is_of_evicted = |name: &str| name.contains("evicted");

    let leaked = (77 + (0..children).map(|child| 1000 + child).sum::<u64>() + 1_000_000, children + 2);
    assert_eq!(bytes_and_blocks(&json["leaked"]), leaked);
    let sum = |list: &str| {
        let all = json[list].as_array().unwrap().iter().map(|of| bytes_and_blocks(&of["leaked"]));
        all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    assert_eq!(sum("stacks"), leaked, "shares add up");
    let of_evicted = bytes_and_blocks(&json["ring"]["leaked"]);
    let of_processes = sum("processes");
    assert_eq!((of_processes.0 + of_evicted.0, of_processes.1 + of_evicted.1), leaked);
    assert!(of_evicted.0 >= 1_000_000 + (evicted - 1) * 1000, "{of_evicted:?}");
    assert_eq!(stack(&report, "[stack not in the trace]")["leaked"], json["ring"]["leaked"]);

    // No process held more than the first child, and nobody knows it better than the one who saw its events.
    let peak = 1_001_000 + 4000;
    let bounds = &json["bounds"]["peak"]["bytes"];
    assert_eq!(bounds["low"], peak);
    assert!(bounds["high"].as_u64().unwrap() >= peak + 77, "{bounds}");
    assert!(ended.stderr.contains("peak: between 1,005,000 bytes"), "{}", ended.stderr);
    assert!(lines(&run.trace(), "Over the whole run").contains("between 1,005,000 bytes"));
    let findings = findings(&run.trace());
    assert_eq!(found(&findings, "max-peak", is_of_evicted), (Some(peak), Some(peak)));
    assert_eq!(check(&run.trace(), ["--max-peak", "1004999"]).0, 4);
    assert_eq!(check(&run.trace(), ["--max-peak", "1005000"]).0, 3);
    assert_eq!(check(&run.trace(), ["--max-peak", "2000000"]).0, 0);

    assert_eq!(json["bounds"]["allocations"]["blocks"]["low"], children * (rounds + 1) + 2);
    let found_of = |rule| found(&findings, rule, is_of_evicted);
    assert_eq!(found_of("max-leaked").1, Some(1_001_000));
    assert_eq!(found_of("max-leaked-blocks").1, Some(2));
    assert_eq!(found_of("max-allocations").1, Some(rounds + 2));
    let first_left = found(&findings, "max-allocations", |name| !is_of_evicted(name));
    assert_eq!(first_left, (Some(rounds + 1), Some(rounds + 1)));
    assert_ne!(check(&run.trace(), ["--max-leaked-per-stack", "0"]).0, 0);
    assert_eq!(check(&run.trace(), ["--max-leaked", "2MiB"]).0, 0);
    assert_eq!(check(&run.trace(), ["--no-alloc-after", "mark"]).0, 3);
}

/// One thread: what was live before the ring is known to the one who emptied the log, and to everybody.
#[test]
fn the_peak_before_a_ring_of_one_thread_is_known() {
    let place = Place::new();
    let program = place.compile("family.c");
    let run = Run::new(&place, program).args(["0", "100"]).options(["--ring", "1MiB"]);
    let run = run.env("FAMILY_PEAK", "3000000").env("FAMILY_ROUNDS", "600000");
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let report = Report::of(&run.trace());
    let peak = 3_000_077;
    assert!(report.json["peak"]["bytes"].as_u64().unwrap() < 5000, "it is in no event that is there");
    assert_eq!(report.json["ring"]["peak"]["bytes"], peak);
    assert_eq!(report.json["bounds"]["peak"]["bytes"]["high"], peak);
    let said = [ended.stderr.clone(), lines(&run.trace(), "Before the ring begins")];
    assert!(said.iter().all(|said| said.contains("3,000,077 bytes")), "{said:?}");
    assert_eq!(check(&run.trace(), ["--max-peak", "3000077"]).0, 0);
    assert_eq!(check(&run.trace(), ["--max-peak", "3000076"]).0, 4);
    // Rates are of the ring's own time, and counts of rules of the whole run.
    let json = &report.json;
    let [calls, until, end] =
        ["calls.total", "ring.until_ns", "processes.0.end_ns"].map(|path| at(json, path));
    let rate = json["rates"]["calls_per_second"].as_f64().unwrap();
    let expected = calls as f64 * 1e9 / (end - until) as f64;
    assert!((rate / expected - 1.0).abs() < 0.01, "{rate} of {expected}");
    let allocations = ["--max-allocations", "600002"];
    assert_eq!(check(&run.trace(), allocations).0, 0);
    assert_eq!(check(&run.trace(), ["--max-allocations", "600001"]).0, 4);
}

/// A number in JSON by the keys and indices that lead to it.
fn at(json: &Value, path: &str) -> u64 {
    json.pointer(&format!("/{}", path.replace('.', "/"))).and_then(Value::as_u64).unwrap()
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

#[test]
fn a_program_for_another_machine_is_named() {
    use std::os::unix::fs::PermissionsExt;
    const AARCH64: u8 = 183;
    let place = Place::new();
    let program = place.path("other");
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(64, 0);
    elf[16] = 2; // an executable
    elf[18] = AARCH64;
    std::fs::write(&program, elf).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    for command in ["record", "run"] {
        let output = heapscribe().args([command, "--heap", "tlsf", "--"]).arg(&program).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(126), "{said}");
        assert!(said.contains("hint: it is a program for aarch64, and this machine is x86_64"), "{said}");
    }
}

/// What `record` says at the end is what its report says, also where neither knows it exactly.
#[test]
fn the_summary_has_the_figures_of_the_report() {
    for what_is_lost in ["strict", "files_1m"] {
        let place = Place::new();
        let run = Run::new(&place, place.compile("life_limits.c")).args([what_is_lost]);
        let said = run.recorded().stderr;
        let after = |what: &str| said.split_once(what).and_then(|(_, rest)| rest.lines().next());
        let (peak, unfreed) = after("peak: ").and_then(|line| line.split_once("; not freed: ")).expect(&said);
        let peak = peak.replace(" (of all processes together)", "");
        let report = lines(&run.trace(), "");
        let peak = match peak.rsplit_once(", ") {
            Some((bytes, _)) if !peak.contains("the most that was recorded") => {
                format!("after the start: {bytes}")
            }
            _ => format!("At its largest the heap was {peak}."),
        };
        for words in [peak, format!("Never freed: {unfreed}.")] {
            assert!(report.contains(&words), "{words} not in {report}\n{said}");
        }
        let lost = after("dropped: ").and_then(|line| line.split(' ').next()).unwrap();
        assert!(report.contains(&format!("Events lost: {lost}.")), "{lost} {report}");
    }
}
