//! Of what resident memory is made, as a recording has it over time (`record --memory-map`).

use serde_json::Value;

use crate::memory::{MIB, Memory, Pages};
use crate::support::{Place, Report, heapscribe, until};

/// The samples of the only process of a trace that may still be written.
fn over_time(trace: &std::path::Path) -> Vec<Value> {
    let ended = heapscribe().args(["report", "--memory", "--json"]).arg(trace).output().unwrap();
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap_or_default();
    report["processes"][0]["memory_over_time"].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_recording_has_the_parts_of_memory_over_time() {
    let place = Place::new();
    let pages = Pages::start(&place, "mapped", &["--memory-map", "every=30ms"]);
    let trace = place.path("run.hst");
    let part = |sample: &Value, name: &str| Memory(sample.clone()).part(name);
    let live = |sample: &Value| part(sample, "live");
    until("a look at all blocks", || over_time(&trace).last().is_some_and(|last| live(last) >= 50 * 200_000));
    let by_pages = pages.memory();
    pages.follow_advice();
    until("a look at what is left", || over_time(&trace).last().is_some_and(|last| live(last) < MIB));
    pages.end();
    let samples = over_time(&trace);
    for sample in &samples {
        let all = sample["parts"].as_array().unwrap().iter().map(|part| part["bytes"].as_u64().unwrap());
        assert_eq!(Some(all.sum::<u64>()), sample["resident_bytes"].as_u64(), "{sample}");
    }
    let times: Vec<_> = samples.iter().map(|sample| sample["time_ns"].as_u64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    // One that was taken while the program waited is what the snapshot says.
    let most = samples.iter().max_by_key(|sample| live(sample)).unwrap();
    for name in ["live", "mapped_tails", "free_in_used_pages", "stacks"] {
        assert_eq!(part(most, name), by_pages.part(name), "{name}");
    }
    let whole = Report::of(&trace).json;
    assert_eq!(whole["processes"][0]["memory_over_time"].as_array().map(Vec::len), Some(samples.len()));
    let report = |how: &str| heapscribe().args(["report", how]).arg(&trace).output().unwrap().stdout;
    let [memory, full] = ["--memory", "--full"].map(|how| String::from_utf8(report(how)).unwrap());
    assert!(memory.starts_with("Memory of: ") && memory.contains("\nRecorded on "), "{memory}");
    let table = memory.split_once("\n\n").unwrap().1;
    assert!(table.contains(" not heap  recorder\n"), "{memory}");
    assert!(full.contains(table), "{full}");
}
