//! The report of a small trace, as text and as JSON.

use crate::sample;
use crate::see::Place;

#[test]
fn text() {
    let (code, out, err) = Place::with_trace(&sample::trace()).all("report run.hst");
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
    assert_eq!(place.all("report run.hst"), place.all("report run.hst"));
    assert_eq!(place.all("report run.hst --json"), place.all("report run.hst --json"));
}

#[test]
fn top_shortens_every_list() {
    let place = Place::with_trace(&sample::trace());
    assert!(place.all("report run.hst").1.contains("   2. "));
    assert!(!place.all("report run.hst --top 1").1.contains("   2. "));
    let json: serde_json::Value =
        serde_json::from_str(&place.all("report run.hst --json --top 1").1).unwrap();
    assert_eq!(json["stacks"].as_array().unwrap().len(), 1);
}

#[test]
fn a_run_with_nothing_wrong_says_so() {
    let text = Place::with_trace(&sample::tiny()).stdout("report run.hst");
    assert!(text.contains("Nothing: every block was freed."), "{text}");
    assert!(text.contains("Events lost: 0."), "{text}");
}

#[test]
fn estimates_of_samples_as_text() {
    insta::assert_snapshot!(Place::with_trace(&sample::sampled()).stdout("report run.hst"));
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
        let text = place.stdout_in(locale, "report run.hst");
        assert_eq!(text.is_ascii(), is_ascii, "{locale}: {text}");
        assert!(text.contains(if is_ascii { "~ 261 calls" } else { "≈ 261 calls" }), "{locale}: {text}");
    }
}

#[test]
fn what_is_exact_has_no_estimates() {
    let place = Place::with_trace(&sample::trace());
    assert!(!place.all("report run.hst --json").1.contains("sampling"));
    assert!(!place.all("report run.hst").1.contains('≈'));
}
