//! The figures of the page, against those that can be counted on the fingers of two hands.

use crate::client::{Place, serve};
use serde_json::{Value, json};

const MS: u64 = 1_000_000;

/// A flame graph as lines: two spaces a level, name, bytes, blocks.
fn drawn(flame: &Value) -> Vec<String> {
    let number = |column: &str, row: usize| flame[column][row].as_u64().unwrap();
    let rows = flame["depth"].as_array().unwrap().len();
    let line = |row: usize| {
        let indent = "  ".repeat(number("depth", row) as usize);
        let name = flame["names"][number("name", row) as usize].as_str().unwrap();
        format!("{indent}{name} {} {}", number("bytes", row), number("blocks", row))
    };
    (0..rows).map(line).collect()
}

fn check(place: &Place, query: &str, expected: &[&str]) {
    assert_eq!(drawn(&place.json(&format!("api/flame?{query}"))), expected, "{query}");
}

#[test]
fn a_question_about_a_range_is_answered_by_function() {
    serve(|place| {
        let range = |from_ms: u64, to_ms: u64| format!("from={}&to={}", from_ms * MS, to_ms * MS);
        let app = ["app (pid 100)", "app (pid 101)"];
        let [first, second] = app;
        check(
            place,
            "show=allocated",
            &[
                "all 14564 5",
                &format!("  {second} 10000 1"),
                "    main 10000 1",
                "      load 10000 1",
                &format!("  {first} 4564 4"),
                "    main 4564 4",
                "      parse 3000 1",
                "      load 1500 2",
                "      <script>alert(1)</script> 64 1",
            ],
        );
        let of_app = |query: String| format!("process=0&{query}");
        let tree = |rows: &[&str], total: &str| {
            let mut all =
                vec![format!("all {total}"), format!("  {first} {total}"), format!("    main {total}")];
            all.extend(rows.iter().map(|row| format!("      {row}")));
            all
        };
        for (query, rows, total) in [
            (format!("show=live&at={}", 2 * MS + MS / 2), &["parse 3000 1", "load 1000 1"][..], "4000 2"),
            (format!("show=live&at={}", 4 * MS + MS / 2), &["parse 3000 1", "load 500 1"], "3500 2"),
            (format!("show=live&at={}&{}", 4 * MS + MS / 2, range(3, 5)), &["load 500 1"], "500 1"),
            (format!("show=allocated&{}", range(2, 4)), &["parse 3000 1"], "3000 1"),
            (format!("show=freed&{}", range(3, 4)), &["load 1000 1"], "1000 1"),
            (format!("show=retained&{}", range(1, 3)), &["parse 3000 1", "load 1000 1"], "4000 2"),
            (format!("show=within&{}", range(1, 4)), &["load 1000 1"], "1000 1"),
            ("show=left".to_owned(), &["load 500 1", "<script>alert(1)</script> 64 1"], "564 2"),
            ("show=left&unit=blocks&without=SCRIPT".to_owned(), &["load 500 1"], "500 1"),
            ("show=allocated&with=pars".to_owned(), &["parse 3000 1"], "3000 1"),
            ("show=allocated&size=600".to_owned(), &["load 1000 1"], "1000 1"),
            (format!("show=allocated&thread=1&{}", range(1, 3)), &["parse 3000 1", "load 1000 1"], "4000 2"),
            ("show=allocated&with=%3Dparse".to_owned(), &["parse 3000 1"], "3000 1"),
            ("show=left&with=APP.C&without=%3Cscript".to_owned(), &["load 500 1"], "500 1"),
        ] {
            let expected = tree(rows, total);
            check(place, &of_app(query), &expected.iter().map(String::as_str).collect::<Vec<_>>());
        }
        check(place, &format!("show=freed&process=1&{}", range(1, 2)), &["all 0 0"]);
        check(place, "show=allocated&process=0&thread=2", &["all 0 0"]);
    });
}

#[test]
fn callers_a_focus_and_a_path_are_the_same_figures_seen_otherwise() {
    serve(|place| {
        check(
            place,
            "show=allocated&process=0&tree=callers&with=load",
            &["all 1500 2", "  load 1500 2", "    main 1500 2", "      app (pid 100) 1500 2"],
        );
        let table = place.json("api/functions?show=allocated");
        let number_of = |name: &str| {
            let names = table["name"].as_array().unwrap();
            table["function"][names.iter().position(|of| of == name).unwrap()].as_u64().unwrap()
        };
        let (main, load) = (number_of("main"), number_of("load"));
        let focus = |function: u64, tree: &str| format!("show=allocated&tree={tree}&focus={function}");
        check(
            place,
            &focus(main, "callees"),
            &["main 14564 5", "  load 11500 3", "  parse 3000 1", "  <script>alert(1)</script> 64 1"],
        );
        check(
            place,
            &focus(load, "callers"),
            &["load 11500 3", "  main 11500 3", "    app (pid 101) 10000 1", "    app (pid 100) 1500 2"],
        );
        check(place, &format!("{}&path={load}", focus(main, "callees")), &["load 11500 3"]);
        // What is not there any more is left out of the path.
        check(place, &format!("{}&path={load}.{main}", focus(main, "callees")), &["load 11500 3"]);
        assert_eq!(place.get("api/flame?focus=4000000000").status, 400);
    });
}

#[test]
fn tables_and_sizes_are_of_the_same_question() {
    serve(|place| {
        let functions = place.json("api/functions?show=allocated&process=0&rows=2");
        assert_eq!(functions["all"], 5);
        assert_eq!(functions["name"], json!(["parse", "load"]));
        assert_eq!(functions["own_bytes"], json!([3000, 1500]));
        assert_eq!(functions["file"], json!(["app.c", "app.c"]));
        assert_eq!(functions["total"], json!({ "blocks": 4, "bytes": 4564 }));
        let stacks = place.json("api/stacks?show=left");
        assert_eq!((&stacks["all"], &stacks["bytes"]), (&json!(2), &json!([500, 64])));
        let names = stacks["functions"][0].as_array().unwrap().iter();
        let names: Vec<&str> =
            names.map(|n| stacks["names"][n.as_u64().unwrap() as usize].as_str().unwrap()).collect();
        assert_eq!(names, ["load", "main", "app (pid 100)"]);
        let sizes = place.json("api/sizes?show=allocated");
        assert_eq!(sizes["from_bytes"], json!([64, 256, 512, 2048, 8192]));
        assert_eq!(sizes["to_bytes"], json!([127, 511, 1023, 4095, 16383]));
        assert_eq!(sizes["bytes"], json!([64, 500, 1000, 3000, 10000]));
        let of_load = place.json("api/sizes?show=allocated&with=load");
        assert_eq!(of_load["from_bytes"], json!([256, 512, 8192]));
        assert_eq!(of_load["bytes"], json!([500, 1000, 10000]));
    });
}

#[test]
fn a_part_of_the_timeline_has_as_many_steps_as_all_of_it() {
    serve(|place| {
        let part = &place.json(&format!("api/zoom?from={}&to={}", 2 * MS, 4 * MS))["timeline"];
        assert_eq!((&part["begin_ns"], &part["step_ns"]), (&json!(2 * MS), &json!(2_000)));
        let column = |name: &str| [0, 499, 500, 999].map(|step| part[name][step].as_u64().unwrap());
        assert_eq!(column("heap_end_bytes"), [14_000, 14_000, 13_000, 13_000]);
        assert_eq!(column("heap_max_bytes"), [14_000, 14_000, 14_000, 13_000]);
        assert_eq!(column("allocated_bytes"), [13_000, 0, 0, 0]);
        assert_eq!(column("frees"), [0, 0, 1, 0]);
        // What processes hold when they end goes with them.
        let end = &place.json(&format!("api/zoom?from={}", 9 * MS + 1))["timeline"];
        let of_end = end["heap_end_bytes"].as_array().unwrap();
        assert_eq!((&of_end[0], of_end.last().unwrap()), (&json!(564), &json!(0)));
        assert_eq!(place.json("api/zoom?from=11000000"), json!({ "timeline": null }));
    });
}

#[test]
fn generations_say_what_of_them_is_still_there() {
    serve(|place| {
        let cuts = [1, 3, 5, 10].map(|ms| (ms * MS).to_string()).join(".");
        let rows = place.json(&format!("api/generations?process=0&cuts={cuts}"));
        assert_eq!(rows["from_ns"], json!([MS, 3 * MS, 5 * MS]));
        assert_eq!(rows["to_ns"], json!([3 * MS, 5 * MS, 10 * MS]));
        assert_eq!(
            (&rows["allocated_bytes"], &rows["allocated_blocks"]),
            (&json!([4000, 500, 64]), &json!([2, 1, 1]))
        );
        assert_eq!(
            (&rows["retained_bytes"], &rows["retained_blocks"]),
            (&json!([4000, 500, 64]), &json!([2, 1, 1]))
        );
        assert_eq!((&rows["left_bytes"], &rows["left_blocks"]), (&json!([0, 500, 64]), &json!([0, 1, 1])));
        assert_eq!(place.get("api/generations?cuts=2.1").status, 400);
    });
}

#[test]
fn the_summary_and_the_whole_are_those_of_the_report() {
    serve(|place| {
        let summary = place.json("api/summary");
        assert_eq!(summary["command"], json!(["./app", crate::recording::HOSTILE]));
        assert_eq!((&summary["duration_ns"], &summary["processes"]), (&json!(10 * MS), &json!(2)));
        assert_eq!(summary["has_index"], true);
        let whole = place.json("api/whole");
        assert_eq!(whole["peak"], json!({ "bytes": 14000, "blocks": 3, "time_ns": 2 * MS }));
        assert_eq!(whole["left"], json!({ "bytes": 564, "blocks": 2 }));
        assert_eq!(whole["processes"]["pid"], json!([100, 101]));
        assert_eq!(whole["threads"]["name"], json!(["<b>", "<b>"]));
        assert_eq!(whole["threads"]["allocated_bytes"], json!([4564, 10000]));
        let time = place.json("api/time");
        assert_eq!(time["peak"], json!({ "bytes": 14000, "time_ns": 2 * MS }));
        assert_eq!((&time["lanes"][0]["pid"], &time["lanes"][0]["max_bytes"]), (&json!(101), &json!(10000)));
        assert_eq!((&time["lanes"][1]["pid"], &time["lanes"][1]["max_bytes"]), (&json!(100), &json!(4000)));
        let heap = time["timeline"]["heap_max_bytes"].as_array().unwrap();
        assert_eq!(heap.iter().filter_map(Value::as_u64).max(), Some(14000));
        // The peak of live blocks is the peak of the whole.
        let live = place.json("api/flame");
        assert_eq!((&live["total"]["bytes"], &live["at_ns"]), (&json!(14000), &json!(2 * MS)));
        assert_eq!(place.get("api/other").status, 404);
        assert_eq!(place.get("api/flame?show=nothing").status, 400);
    });
}

#[test]
fn a_whole_name_is_no_part_of_another() {
    serve(|place| {
        check(place, "show=allocated&with=%3Dpars", &["all 0 0"]);
        check(place, "show=allocated&with=%3DParse", &["all 0 0"]);
        check(place, "show=allocated&with=no.c", &["all 0 0"]);
        // The first box is no function.
        check(place, "show=allocated&with=ll", &["all 0 0"]);
    });
}
