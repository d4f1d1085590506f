//! Traces as files for other tools: what stands in them, and what they refuse.

use serde_json::Value;

use crate::sample;
use crate::see::{Place, file};

/// The file that a trace becomes, pids and all.
fn converted(to: &str) -> String {
    let place = Place::with_trace(&sample::trace());
    place.all(&format!("convert run.hst --to {to} -o out"));
    file(&place.path("out"))
}

/// What is said once, and the moments that have stacks.
fn trees(massif: &str) -> String {
    let moments: Vec<&str> = massif.split("#-----------\nsnapshot=").collect();
    let some = moments.iter().filter(|moment| !moment.contains("heap_tree=empty"));
    some.copied().collect::<Vec<_>>().join("snapshot=")
}

#[test]
fn each_format_of_a_small_trace() {
    for to in ["massif", "dhat", "heaptrack", "chrome-trace", "speedscope"] {
        let text = match to {
            "massif" => trees(&converted(to)),
            "speedscope" | "dhat" => {
                let json: Value = serde_json::from_str(&converted(to)).unwrap();
                serde_json::to_string_pretty(&json).unwrap()
            }
            _ => converted(to),
        };
        insta::assert_snapshot!(to, text);
    }
}

/// Folded stacks are those of `flame`, and a profile of speedscope weighs as much.
#[test]
fn figures_are_those_of_flame() {
    let place = Place::with_trace(&sample::trace());
    place.all("convert run.hst --to speedscope -o out.json");
    let speedscope: Value = serde_json::from_str(&file(&place.path("out.json"))).unwrap();
    let profiles = speedscope["profiles"].as_array().unwrap();
    for (number, metric) in ["peak", "leaked", "allocated", "count", "temporary"].iter().enumerate() {
        place.all(&format!("flame run.hst -o flame.folded --metric {metric}"));
        place.all(&format!("convert run.hst --to folded -o out.folded --metric {metric}"));
        let folded = file(&place.path("out.folded"));
        assert_eq!(folded, file(&place.path("flame.folded")), "{metric}");
        let widths = folded.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
        assert_eq!(profiles[number]["endValue"], widths.sum::<u64>(), "{metric}");
    }
}

/// Sections and marks stand where they were, on the threads that the kernel knows.
#[test]
fn a_chrome_trace_has_sections_and_marks() {
    let place = Place::with_trace(&sample::sectioned(heapscribe_formats::RealTimeRules::default()));
    place.all("convert run.hst --to chrome-trace -o out.json");
    let json: Value = serde_json::from_str(&file(&place.path("out.json"))).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let of = |ph: &str| -> Vec<String> {
        let some = events.iter().filter(|event| event["ph"] == ph);
        some.map(|event| format!("{} {}/{}", event["name"], event["pid"], event["tid"])).collect()
    };
    assert_eq!(of("i"), ["\"ready\" 100/100"]);
    assert_eq!(of("B").len(), 3, "{:?}", of("B"));
    assert_eq!(of("B").len(), of("E").len());
    assert!(of("B").contains(&"\"rt\" 100/101".to_owned()), "{:?}", of("B"));
}

/// A range of stacks is that of `flame`; what has no stacks has no ranges.
#[test]
fn ranges_are_those_of_flame() {
    let place = Place::with_trace(&sample::replaced());
    for (range, flame) in
        [("--range 1ms..2ms", "--from 1ms --to 2ms"), ("--live-at 1.5ms", "--live-at 1.5ms")]
    {
        place.stdout(&format!("convert run.hst --to folded -o out.folded {range}"));
        place.stdout(&format!("flame run.hst -o flame.folded {flame}"));
        assert_eq!(file(&place.path("out.folded")), file(&place.path("flame.folded")), "{range}");
    }
    let refused = ["massif", "dhat", "heaptrack", "chrome-trace", "memtrace"];
    let said = refused.map(|to| place.failure(&format!("convert run.hst --to {to} -o out --range 1ms..2ms")));
    insta::assert_snapshot!(said.join("\n"));
}
