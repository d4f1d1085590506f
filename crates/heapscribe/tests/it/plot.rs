//! `plot`: pictures are made of the trace and can be read.

use crate::sample;
use crate::see::Place;

/// The points of a PNG.
fn points(path: &std::path::Path) -> resvg::tiny_skia::Pixmap {
    resvg::tiny_skia::Pixmap::load_png(path).unwrap()
}

#[test]
fn the_heap_is_an_area_and_names_stand_beside_it() {
    let place = Place::with_trace(&sample::trace());
    place.all("plot run.hst -o out.svg");
    let svg = std::fs::read_to_string(place.path("out.svg")).unwrap();
    for text in ["Memory", "live heap (maximum)", "Allocations per second", "peak "] {
        assert!(svg.contains(text), "{text}");
    }
}

/// The key of a panel lay over the begin of its curves; it stands beside the title.
#[test]
fn what_the_series_are_stands_above_the_panel() {
    let place = Place::with_trace(&sample::trace());
    place.all("plot run.hst -o out.svg");
    let svg = std::fs::read_to_string(place.path("out.svg")).unwrap();
    let y = |text: &str| {
        let at = svg.find(text).unwrap_or_else(|| panic!("{text}"));
        let element = &svg[svg[..at].rfind("<text").unwrap()..at];
        element.split(" y=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    assert_eq!(y("live heap (maximum)"), y("Memory"));
    assert_eq!(svg.to_ascii_lowercase().matches("allocations per second").count(), 1);
}

/// In print and on the screen it is the same picture: an area under the curve, black letters on white.
#[test]
fn points_have_the_colours_of_the_series() {
    let place = Place::with_trace(&sample::trace());
    place.all("plot run.hst -o out.png");
    let points = points(&place.path("out.png"));
    assert_eq!((points.width(), points.height()), (2000, 2 * (64 + 2 * 300)));
    let share = |wanted: &dyn Fn(u8, u8, u8) -> bool| {
        let found = points.pixels().iter().filter(|p| wanted(p.red(), p.green(), p.blue())).count();
        found as f64 / points.pixels().len() as f64
    };
    assert!(share(&|r, g, b| (r, g, b) == (255, 255, 255)) > 0.5, "paper");
    assert!(share(&|r, g, b| b > 200 && r < 200 && g < 230) > 0.01, "the area of the heap");
    assert!(share(&|r, g, b| r < 80 && g < 80 && b < 80) > 0.001, "letters and axes");
}

#[test]
fn pdf_is_pdf() {
    let place = Place::with_trace(&sample::trace());
    place.all("plot run.hst -o out.pdf");
    let pdf = std::fs::read(place.path("out.pdf")).unwrap();
    assert!(pdf.starts_with(b"%PDF-") && pdf.windows(5).any(|w| w == b"%%EOF"));
    assert!(pdf.windows(5).any(|w| w == b"/Font"), "letters are letters, not outlines");
}

#[test]
fn what_to_write_is_asked_for() {
    insta::assert_snapshot!(Place::with_trace(&sample::trace()).failure("plot run.hst -o out.jpg"));
}
