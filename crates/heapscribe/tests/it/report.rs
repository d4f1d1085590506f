//! The report of a small trace, as text and as JSON.

use crate::sample;
use crate::see::Place;

#[test]
fn text() {
    let (code, out, err) = Place::with_trace(&sample::trace()).all("report run.hst --full");
    insta::assert_snapshot!(format!("{out}\n--- stderr ---\n{err}--- exit {code:?}"));
}

#[test]
fn json() {
    let (_, out, _) = Place::with_trace(&sample::trace()).all("report run.hst --json");
    let mut value: serde_json::Value = serde_json::from_str(&out).unwrap();
    let steps = value["timeline"]["steps"].as_array_mut().unwrap();
    assert!(steps.len() > 10);
    steps.truncate(2);
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
}

#[test]
fn the_same_bytes_give_the_same_text() {
    let place = Place::with_trace(&sample::trace());
    assert_eq!(place.all("report run.hst --full"), place.all("report run.hst --full"));
    assert_eq!(place.all("report run.hst --json"), place.all("report run.hst --json"));
}

#[test]
fn top_shortens_every_list() {
    let place = Place::with_trace(&sample::trace());
    assert!(place.all("report run.hst --full").1.contains("   2. "));
    assert!(!place.all("report run.hst --full --top 1").1.contains("   2. "));
    let json: serde_json::Value =
        serde_json::from_str(&place.all("report run.hst --json --top 1").1).unwrap();
    assert_eq!(json["stacks"].as_array().unwrap().len(), 1);
}

#[test]
fn a_run_with_nothing_wrong_says_so() {
    let text = Place::with_trace(&sample::tiny()).stdout("report run.hst --full");
    assert!(text.contains("Nothing: every block was freed."), "{text}");
    assert!(text.contains("Events lost: 0."), "{text}");
}

#[test]
fn estimates_of_samples_as_text() {
    insta::assert_snapshot!(Place::with_trace(&sample::sampled()).stdout("report run.hst --full"));
}

#[test]
fn estimates_of_samples_as_json() {
    let out = Place::with_trace(&sample::sampled()).stdout("report run.hst --json");
    let mut value: serde_json::Value = serde_json::from_str(&out).unwrap();
    for key in ["timeline", "processes", "threads", "dropped", "lifetimes", "histogram"] {
        value.as_object_mut().unwrap().remove(key).unwrap();
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&value).unwrap());
}

#[test]
fn signs_are_ascii_where_the_locale_is() {
    let place = Place::with_trace(&sample::sampled());
    for (locale, is_ascii) in
        [("C", true), ("de_DE.ISO-8859-1", true), ("C.UTF-8", false), ("en_US.utf8", false)]
    {
        let text = place.stdout_in(locale, "report run.hst --full");
        assert_eq!(text.is_ascii(), is_ascii, "{locale}: {text}");
        assert!(text.contains(if is_ascii { "~ 261 calls" } else { "≈ 261 calls" }), "{locale}: {text}");
    }
}

#[test]
fn what_is_exact_has_no_estimates() {
    let place = Place::with_trace(&sample::trace());
    assert!(!place.all("report run.hst --json").1.contains("sampling"));
    assert!(!place.all("report run.hst --full").1.contains('≈'));
}

#[test]
fn the_first_screen() {
    let (code, out, err) = Place::with_trace(&sample::trace()).all("report run.hst");
    insta::assert_snapshot!(format!("{out}\n--- stderr ---\n{err}--- exit {code:?}"));
    insta::assert_snapshot!(Place::with_trace(&sample::sampled()).stdout("report run.hst"));
}

#[test]
fn the_first_screen_is_no_longer_than_a_screen() {
    for trace in [sample::trace(), sample::sampled(), sample::tiny()] {
        let text = Place::with_trace(&trace).all("report run.hst").1;
        assert!(text.lines().count() <= 50, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}

/// Whether a line has no more columns, or is a command to copy, a name or one word.
fn fits(line: &str, columns: usize) -> bool {
    let text = line.trim_start();
    let is_command = text.starts_with("heapscribe ") || text.starts_with('`') && text.ends_with('`');
    is_command || text.starts_with("Heap of: ") || !text.contains(' ') || line.chars().count() <= columns
}

/// On 60 columns a heading had 98, the first line 92 and the chart 80.
#[test]
fn lines_fit_a_narrow_terminal() {
    for trace in [sample::trace(), sample::sampled(), sample::tiny()] {
        let place = Place::with_trace(&trace);
        for (command, limit) in [("report run.hst", 50), ("report run.hst --full", usize::MAX)] {
            let narrow = place.lines_of("60", command);
            let long: Vec<&String> = narrow.iter().filter(|line| !fits(line, 60)).collect();
            assert!(long.is_empty(), "{command}: {long:#?}");
            assert!(narrow.len() <= limit, "{command}: {narrow:#?}");
            assert_eq!(place.lines_of("80", command), place.lines_of("100", command));
        }
        for command in ["check run.hst --max-leaked 0 --max-peak 1", "diff run.hst run.hst"] {
            let narrow = place.lines_of("60", command);
            assert!(narrow.len() > 2 && narrow.iter().all(|line| fits(line, 60)), "{narrow:#?}");
        }
    }
}

/// The guide lists every threshold with its value.
#[test]
fn thresholds_are_documented() {
    let guide = include_str!("../../../../docs/guide/findings.md");
    for threshold in heapscribe_analyze::findings::limits::THRESHOLDS {
        let row = format!("| `{}` | {} | ", threshold.name, threshold.value);
        assert!(guide.contains(&row), "{row}");
    }
    let rows = guide.lines().filter(|line| line.starts_with("| `") && line.contains("_")).count();
    assert_eq!(rows, heapscribe_analyze::findings::limits::THRESHOLDS.len());
}

/// "Never freed: 0 bytes in 0 blocks." was said without a doubt where `check` gave 0 B to 192 KiB, and JSON had an interval
/// of 0 to 0 and a standard error of -0.
#[test]
fn what_no_sample_hit_is_not_nothing() {
    let place = Place::with_trace(&sample::sampled_and_freed());
    for screen in ["report run.hst", "report run.hst --full"] {
        let (_, text, _) = place.all(screen);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("Never freed: 0 bytes in 0 blocks (95 %: up to 192 KiB)"), "{text}");
    }
    let (_, verdict, _) = place.all("check run.hst --max-leaked 0");
    assert!(verdict.contains("95 %: 0 B to 192 KiB"), "{verdict}");
    let (_, json, _) = place.all("report run.hst --json");
    assert!(!json.contains("-0.0"), "{json}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let leaked = &json["sampling"]["leaked"];
    for unit in ["bytes", "blocks"] {
        assert_eq!(leaked[unit]["interval"], serde_json::json!([0.0, 196_328.0]), "{leaked}");
    }
}
