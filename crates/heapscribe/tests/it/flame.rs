//! Flame graphs in their three forms.

use serde_json::Value;

use crate::sample;
use crate::see::{Place, file};

fn folded(of: &str) -> String {
    let place = Place::with_trace(&sample::trace());
    place.all(&format!("flame run.hst -o out.folded --metric {of}"));
    file(&place.path("out.folded"))
}

#[test]
fn folded_lines() {
    let all = ["peak", "leaked", "allocated", "count", "temporary"].map(|of| format!("{of}\n{}", folded(of)));
    insta::assert_snapshot!(all.join("\n"));
}

/// Each process's box is what `report` says of that process alone; of the peak it is a part, as others had theirs then.
#[test]
fn boxes_of_processes_are_their_figures() {
    let place = Place::with_trace(&sample::trace());
    let figures = |arguments: &str| -> Value {
        serde_json::from_str(&place.all(&format!("report run.hst --json {arguments}")).1).unwrap()
    };
    for (metric, figure) in
        [("leaked", "/leaked/bytes"), ("allocated", "/bytes_allocated"), ("count", "/allocations")]
    {
        let lines = folded(metric);
        for pid in [100, 101] {
            let label = format!("app (pid {pid});");
            let widths = lines.lines().filter_map(|line| line.strip_prefix(&label)?.rsplit(' ').next());
            let sum: u64 = widths.map(|width| width.parse::<u64>().unwrap()).sum();
            let expected = figures(&format!("--pid {pid}")).pointer(figure).unwrap().as_u64().unwrap();
            assert_eq!(sum, expected, "{metric} {pid}");
        }
    }
}

#[test]
fn processes_are_merged_on_request() {
    let place = Place::with_trace(&sample::trace());
    place.all("flame run.hst -o out.folded --metric leaked --merge-processes");
    assert_eq!(file(&place.path("out.folded")), "app+0x1010;app+0x1100;app+0x1200 4170\n");
    place.all("flame run.hst -o one.folded --metric leaked --pid 101");
    assert_eq!(file(&place.path("one.folded")), "app+0x1010;app+0x1100;app+0x1200 64\n");
}

#[test]
fn a_picture_has_a_title_and_a_unit() {
    let place = Place::with_trace(&sample::tiny());
    place.stdout("flame run.hst -o out.svg --metric count");
    let picture = file(&place.path("out.svg"));
    assert!(picture.starts_with("<?xml") && picture.contains("Number of allocations"));
    assert!(picture.contains("./app --fast") && picture.contains("(1 allocations, 100.00%)"));
}

#[test]
fn a_page_needs_no_network() {
    let place = Place::with_trace(&sample::tiny());
    place.stdout("flame run.hst -o out.html --metric allocated");
    let page = file(&place.path("out.html"));
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("<svg") && page.contains("<title>Bytes allocated - ./app --fast</title>"));
    assert!(!page.contains("src=") && !page.contains("<link") && !page.contains("@import"));
}

#[test]
fn a_picture_of_samples_says_that_it_is_estimated() {
    let place = Place::with_trace(&sample::sampled());
    place.stdout("flame run.hst -o out.html --metric allocated");
    assert!(
        file(&place.path("out.html"))
            .contains("<title>Bytes allocated (partly estimated) - ./app --fast</title>")
    );
}

#[test]
fn nothing_to_draw_is_said() {
    let place = Place::with_trace(&sample::tiny());
    insta::assert_snapshot!(place.failure("flame run.hst -o out.svg --metric leaked"), @r"
    error: nothing to draw: run.hst has no leaked blocks
    hint: see what it contains: heapscribe report run.hst
    exit code 1
    ");
    assert!(!place.path("out.svg").exists());
    let of_range = place.failure("flame run.hst -o out.svg --born-in 0%..100% --live-at 100%");
    insta::assert_snapshot!(of_range, @r"
    error: nothing to draw: run.hst has no allocations (allocated in 0 %..100 %, live at 100 %)
    hint: see what it contains: heapscribe report run.hst
    exit code 1
    ");
}
