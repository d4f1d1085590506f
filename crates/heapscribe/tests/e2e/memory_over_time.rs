//! Of what resident memory is made, as a recording has it over time (`record --memory-map`).

use serde_json::Value;

use crate::memory::{MIB, Memory, PAGE, Pages, about};
use crate::support::{Place, Report, heapscribe, until};

/// The samples of the only process of a trace that may still be written.
fn over_time(trace: &std::path::Path) -> Vec<Value> {
    let ended = heapscribe().args(["report", "--memory", "--json"]).arg(trace).output().unwrap();
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap_or_default();
    report["processes"][0]["memory_over_time"].as_array().cloned().unwrap_or_default()
}

/// What the sections of a recording have left, by name: sections, blocks, bytes, pages.
fn left(report: &Value) -> Vec<(String, [u64; 4])> {
    let sections = report["sections"].as_array().unwrap().iter().map(|section| {
        let figure = |name: &str| section["left"][name].as_u64().unwrap();
        let names = ["sections", "blocks", "live_bytes", "pinned_bytes"];
        (section["name"].as_str().unwrap().to_owned(), names.map(figure))
    });
    sections.collect()
}

/// The blocks of `keep` are those of the section, and one more behind it.
#[test]
fn what_a_section_left_pins_pages() {
    let place = Place::new();
    let pages = Pages::start(&place, "request", &["--memory-map", "at=sections"]);
    let trace = place.path("run.hst");
    until("a look after the sections", || {
        over_time(&trace).iter().any(|sample| sample["sections"].to_string().contains("\"blocks\":200,"))
    });
    let pinned = pages.memory().first()["resident_bytes"].as_u64().unwrap();
    pages.end();
    let left = left(&Report::of(&trace).json);
    let [(request, of_request), (parse, of_parse)] = &left[..] else { panic!("{left:?}") };
    assert_eq!((request.as_str(), parse.as_str()), ("request", "parse"));
    assert_eq!((&of_request[..3], &of_parse[..3]), (&[1, 200, 40_000][..], &[1, 100, 20_000][..]));
    about(of_request[3], 210 * PAGE, 3);
    assert!((of_request[3]..=of_request[3] + 2 * PAGE).contains(&pinned), "{pinned} {left:?}");
    let text = heapscribe().args(["report", "--full"]).arg(&trace).output().unwrap().stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("ended; what it left pins ") && text.contains(" in 200 blocks\n"), "{text}");
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

/// What a recording explains of the growth of its program's memory, and the heaps that it has not seen.
fn explained(place: &Place, kind: &str) -> (f64, f64, Value) {
    let pages = Pages::start(place, kind, &[]);
    let by_pages = pages.memory().0["coverage"].as_f64().unwrap();
    pages.end();
    let coverage = Report::of(&place.path("run.hst")).json["coverage"].clone();
    (by_pages, coverage["share"].as_f64().unwrap(), coverage["unseen_heaps"].clone())
}

#[test]
fn a_recording_tells_what_share_of_the_memory_it_explains() {
    let place = Place::new();
    let (by_pages, share, heaps) = explained(&place, "linked_heap");
    assert!((0.57..0.63).contains(&by_pages), "{by_pages}");
    assert!((by_pages - share).abs() < 0.03, "{by_pages} and {share}");
    assert_eq!((heaps[0]["name"].as_str(), heaps[0]["file"].as_str()), (Some("jemalloc"), Some("pages")));
    let place = Place::new();
    let (by_pages, share, heaps) = explained(&place, "hundredth");
    assert!(by_pages > 0.95 && share > 0.9, "{by_pages} and {share}");
    assert_eq!(heaps.as_array().map(Vec::len), Some(0));
}
