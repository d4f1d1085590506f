//! Flame graphs in their three forms.

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
}
