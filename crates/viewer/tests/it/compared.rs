//! Figures beside those of another range, another moment, and another recording.

use serde_json::{Value, json};

use crate::client::{serve, serve_compared, serve_wrapped};

const MS: u64 = 1_000_000;

/// Rows of a table of functions: name, own bytes before and after.
fn rows(table: &Value) -> Vec<(&str, u64, u64)> {
    let names = table["name"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
    let number = |column: &str, n: usize| table[column][n].as_u64().unwrap();
    names.enumerate().map(|(n, name)| (name, number("before_own_bytes", n), number("own_bytes", n))).collect()
}

#[test]
fn a_range_is_compared_with_another() {
    serve(|place| {
        let ask = |query: &str| place.json(&format!("api/functions?order=change&{query}"));
        // Allocated from 4 to 10 ms, and from 1 to 4.
        let table = ask(&format!("show=allocated&from={}&base={}.{}", 4 * MS, MS, 4 * MS));
        assert_eq!(
            rows(&table)[..3],
            [("load", 11000, 500), ("parse", 3000, 0), (crate::recording::HOSTILE, 0, 64)]
        );
        assert_eq!(table["total"], json!({ "blocks": 2, "bytes": 564 }));
        assert_eq!(table["before_total"], json!({ "blocks": 3, "bytes": 14000 }));
        // Live at 7 ms and at 2, as a moment and as the end of a range.
        for base in [format!("{}", 2 * MS), format!("{}.{}", MS, 2 * MS)] {
            let table = ask(&format!("show=live&process=0&at={}&base={base}", 7 * MS));
            let expected = [("parse", 3000, 0), ("load", 1000, 500), (crate::recording::HOSTILE, 0, 64)];
            assert_eq!(rows(&table)[..3], expected, "{base}");
        }
        let flame = place.json(&format!("api/flame?show=live&process=0&at={}&base={}", 7 * MS, 2 * MS));
        assert_eq!((&flame["bytes"][0], &flame["before_bytes"][0]), (&json!(564), &json!(4000)));
        assert_eq!(place.get(&format!("api/flame?show=freed&base={MS}")).status, 400);
        assert_eq!(place.get("api/flame?base=trace").status, 400);
        assert!(place.json("api/flame").get("before_bytes").is_none());
    });
}

#[test]
fn who_has_changed_is_who_asked_for_the_memory() {
    serve_wrapped(|place| {
        let query = format!("show=live&at={}&base={}", 4 * MS, MS);
        // `load` is as it was.
        let table = place.json(&format!("api/functions?order=change&{query}"));
        assert_eq!((rows(&table), &table["all"]), (vec![("main", 100, 1_000)], &json!(1)));
        let table = place.json(&format!("api/functions?{query}"));
        assert_eq!(rows(&table), [("xmalloc", 100, 1_000), ("load", 7, 7), ("main", 0, 0)]);
    });
}

#[test]
fn a_recording_has_not_changed_from_itself() {
    serve_compared(|place| {
        assert_eq!(place.json("api/functions?order=change&base=trace&show=allocated")["all"], 0);
        assert!(place.json("api/summary")["baseline"].is_string());
        for show in ["live", "allocated", "freed", "left"] {
            let flame = place.json(&format!("api/flame?show={show}&base=trace"));
            assert_eq!(flame["bytes"], flame["before_bytes"], "{show}");
            assert_eq!(flame["blocks"], flame["before_blocks"], "{show}");
            assert_eq!(flame["total"], flame["before_total"], "{show}");
        }
        let callers = place.json("api/flame?show=allocated&base=trace&tree=callers&recursion=merged");
        assert_eq!(callers["bytes"], callers["before_bytes"]);
        assert_eq!(callers["total"]["bytes"], 14564);
        assert_eq!(place.get("api/flame?base=trace&process=0").status, 400);
    });
}
