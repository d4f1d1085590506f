//! Traces of Go's through the program.

use std::path::PathBuf;
use std::process::Command;

use crate::sample;
use crate::see::Place;
use crate::skip::skip;

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../formats/tests/fixtures/go").join(name);
    std::fs::read(path).unwrap()
}

/// The program run on a file, which it sees as `run.hst`.
fn all(bytes: &[u8], words: &str) -> String {
    let (code, out, err) = Place::with_trace(bytes).all(words);
    format!("{out}--- stderr ---\n{err}--- exit {code:?}")
}

#[test]
fn the_heap_is_what_go_says_of_it() {
    let text = String::from_utf8(fixture("go119-tiny.dump.txt")).unwrap();
    let name = |name: &str| match name {
        "HeapAlloc" => Some("heap_live"),
        "HeapGoal" => Some("heap_goal"),
        "Gomaxprocs" => Some("gomaxprocs"),
        "GCStart" => Some("gc_start"),
        "GCDone" => Some("gc_done"),
        "GCSTWStart" => Some("stw_start"),
        "GCSTWDone" => Some("stw_done"),
        _ => None,
    };
    let line = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        let p = words[2].strip_prefix("p=").unwrap();
        let value = words.get(5).map_or("0", |word| word.split_once('=').unwrap().1);
        name(words[1]).map(|name| format!("{}\t{name}\t{p}\t{value}\n", words[0]))
    };
    let expected: String = text.lines().filter_map(line).collect();
    let (code, out, _) = Place::with_trace(&fixture("go119-tiny.trace")).all("dump --style go-heap run.hst");
    assert_eq!((code, out), (Some(0), format!("#ts_ns\tevent\tP\tvalue\n{expected}")));
}

#[test]
fn stacks_and_events_are_lines() {
    let tiny = fixture("go119-tiny.trace");
    let stacks = all(&tiny, "dump --style go-stacks run.hst");
    assert!(stacks.starts_with("stack 1 1\n\t0x"), "{stacks}");
    assert!(stacks.contains("\tmain.grow\t./tiny.go\t"), "{stacks}");
    let lines = all(&tiny, "dump run.hst");
    assert!(lines.starts_with("# go 1.19 trace, "), "{lines}");
    assert!(lines.contains(" G0 P1 GoStartLabel g=17"), "{lines}");
    assert!(lines.contains(" labelid=3 \"GC (fractional)\"\n"), "{lines}");
    let objects = all(&tiny, "dump --json run.hst");
    let heap = objects.lines().find(|line| line.contains("\"event\":\"HeapAlloc\"")).unwrap();
    let object: serde_json::Value = serde_json::from_str(heap).unwrap();
    assert!(object["values"]["mem"].as_u64().unwrap() > 100_000 && object["time_ns"].as_u64().is_some());
    let generations = all(&fixture("go123-killed.trace"), "dump --style go-stacks run.hst");
    assert_eq!(generations.lines().filter(|line| line.starts_with("generation ")).count(), 3);
}

#[test]
fn a_report_tells_the_curve_and_the_collector() {
    insta::assert_snapshot!(all(&fixture("go119-tiny.trace"), "report run.hst"));
    let (_, json, _) = Place::with_trace(&fixture("go123-killed.trace")).all("report run.hst --json");
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["heap"]["changes"], 1131);
    assert_eq!((&value["generations"], &value["collections"]["all"]["count"]), (&3.into(), &7.into()));
    assert_eq!(value["objects"], serde_json::Value::Null);
}

#[test]
fn a_plot_has_the_curve_the_goal_and_the_collections() {
    let place = Place::with_trace(&fixture("go119-tiny.trace"));
    assert_eq!(place.all("plot run.hst -o heap.svg").0, Some(0));
    let svg = std::fs::read_to_string(place.path("heap.svg")).unwrap();
    assert!(
        ["Heap of Go", "live", "goal", "\nGC\n", "go 1.19 trace, 1 collection"]
            .iter()
            .all(|text| svg.contains(text)),
        "{svg}"
    );
}

#[test]
fn what_is_missing_is_said_with_what_to_do() {
    let killed = all(&fixture("go119-killed.trace"), "report run.hst");
    assert!(
        killed.contains("error: run.hst has no events\nhint: call trace.Stop before the program exits"),
        "{killed}"
    );
    let flame = all(&fixture("go119-tiny.trace"), "flame run.hst -o x.svg");
    assert!(
        flame.contains("hint: build the program with Go 1.23 and run it with GODEBUG=traceallocfree=1"),
        "{flame}"
    );
    let tiny = fixture("go119-tiny.trace");
    let cut = all(&tiny[..500], "report run.hst");
    assert!(cut.contains("The length of a tick: times are in ticks"), "{cut}");
    assert!(cut.contains(" at byte 499") && cut.ends_with("exit Some(3)"), "{cut}");
    let blocks = all(&tiny, "hotspots run.hst");
    assert!(blocks.contains("error: run.hst is a Go trace, which has no blocks"), "{blocks}");
    let later = all(b"go 1.99 trace\0\0\0", "report run.hst");
    assert!(later.contains("trace of go 1.99, known are go 1.11 to go 1.23 at byte 0"), "{later}");
}

/// A batch of layout two with a size of three bytes.
fn batch(head: &[u8], content: &[u8]) -> Vec<u8> {
    [head, &[content.len() as u8 | 0x80, 0x80, 0], content].concat()
}

/// Goroutine 1, which began with `main`, allocates three nodes of 24 bytes and frees one.
fn with_objects() -> Vec<u8> {
    let events = [
        &[128, 1, 0, 1, 3 << 2, 25, 1, 1, 5, 2, 20, 1, 0, 1, 16, 1, 1, 1][..],
        &[132, 1, 3, 9, 132, 1, 6, 9, 133, 10, 3, 132, 1, 9, 9, 37, 1, 0x80, 0x40],
    ];
    [
        &b"go 1.23 trace\0\0\0"[..],
        &batch(&[49, 1, 1, 1, 0], &[1, 0, 0x80, 0x40, 8, 0x80, 0x10]),
        &batch(&[49, 1, 1, 1, 0], b"\0\x09\x01\x18\x10\x04node"),
        &batch(&[1, 1, 1, 0], &[8, 0x80, 0x94, 0xeb, 0xdc, 3]),
        &batch(&[1, 1, 1, 0], b"\x02\x03\x01\x01\x07\x01\x01\x01"),
        &batch(&[1, 1, 1, 0], b"\x04\x05\x01\x04main"),
        &batch(&[1, 1, 5, 10], &events.concat()),
    ]
    .concat()
}

#[test]
fn objects_are_told_by_type_and_goroutine() {
    insta::assert_snapshot!(all(&with_objects(), "report run.hst --full"));
    let folded = |of: &str| {
        let place = Place::with_trace(&with_objects());
        assert_eq!(place.all(&format!("flame run.hst -o x.folded --metric {of}")).0, Some(0));
        std::fs::read_to_string(place.path("x.folded")).unwrap()
    };
    assert_eq!(folded("allocated"), "main;node 72\n");
    assert_eq!(folded("count"), "main;node 3\n");
    assert_eq!(folded("peak"), "main;node 48\n");
    assert_eq!(folded("leaked"), "main;node 48\n");
    let temporary = all(&with_objects(), "flame run.hst -o x.folded --metric temporary");
    assert!(
        temporary.contains("error: a Go trace does not show which objects were temporary (run.hst)"),
        "{temporary}"
    );
}

#[test]
fn a_trace_of_ours_becomes_one_of_go() {
    let place = Place::with_trace(&sample::trace());
    place.all("convert run.hst --to gotrace -o run.trace");
    let report: serde_json::Value = serde_json::from_str(&place.all("report run.hst --json").1).unwrap();
    let lines = place.all("dump run.trace").1;
    let logs: Vec<_> = lines.lines().filter(|line| line.contains(" UserLog ")).collect();
    // The child's one allocation is in no other process's trace.
    assert_eq!(logs.len() as u64 + 1, report["allocations"].as_u64().unwrap(), "{lines}");
    assert!(logs.iter().all(|line| line.contains(" bytes\"")), "{lines}");
    assert!(
        lines.contains("keyid=") && lines.contains("\"malloc\"") && lines.contains("\"calloc\""),
        "{lines}"
    );
    assert!(lines.contains("# stack S3 of G0: "), "{lines}");
    accepted_by_go(&place, lines.lines().filter(|line| !line.starts_with('#')).count());
}

/// Go's own reader takes the file, and finds as many events. Without Go that is skipped, aloud.
fn accepted_by_go(place: &Place, events: usize) {
    let trace = place.path("run.trace");
    let Ok(output) = Command::new("go").args(["tool", "trace", "-d"]).arg(&trace).output() else {
        return skip("go is not there, which would read the file (apt-get install golang-go)");
    };
    let (out, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if said.contains("no such tool") {
        return skip(format_args!("this go has no tool `trace`: {said}"));
    }
    assert!(output.status.success(), "{said}");
    // Go before 1.22 prints a line for each event; later ones read the file in their own way.
    if out.starts_with("0 GoCreate ") {
        assert_eq!(out.lines().count(), events, "{out}");
    }
}
