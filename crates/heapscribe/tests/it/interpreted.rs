//! Frames that an interpreter runs, in all that shows stacks.

use serde_json::{Value, json};

use crate::sample;
use crate::see::{Place, file};

#[test]
fn json_has_language_function_file_and_line() {
    let place = Place::with_trace(&sample::interpreted());
    let report: Value = serde_json::from_str(&place.stdout("report run.hst --json")).unwrap();
    let stacks = report["stacks"].as_array().unwrap();
    let of = |bytes: u64| stacks.iter().find(|stack| stack["bytes"] == bytes).unwrap()["frames"].clone();
    let shown = |frame: &Value| {
        json!([frame["language"], frame["function"], frame["file"], frame["line"], frame["module"]])
    };
    let frames: Vec<Value> = of(700).as_array().unwrap().iter().take(2).map(shown).collect();
    let expected = [
        json!(["python", "handle", "/srv/app.py", 44, null]),
        json!(["python", "Server.serve", "/srv/web.py", 12, null]),
    ];
    assert_eq!(frames, expected);
    assert_eq!(of(700).as_array().unwrap().len(), 2, "the interpreter's own frames are left out");
    let callback = of(50);
    assert_eq!(
        (&callback[0]["function"], &callback[1]["module"]),
        (&Value::Null, &json!("/nonexistent/libgui.so"))
    );
}

#[test]
fn native_frames_are_shown_when_asked_for() {
    let place = Place::with_trace(&sample::interpreted());
    let report: Value = serde_json::from_str(&place.stdout("report run.hst --json --native")).unwrap();
    let stack = report["stacks"].as_array().unwrap().iter().find(|stack| stack["bytes"] == 700).unwrap();
    let languages: Vec<_> = stack["frames"].as_array().unwrap().iter().map(|f| f.get("language")).collect();
    assert_eq!(languages, [Some(&json!("python")), Some(&json!("python")), None, None]);
}

#[test]
fn text_and_exports_name_the_lines() {
    let place = Place::with_trace(&sample::interpreted());
    let text = place.stdout("report run.hst --full");
    for line in ["/srv/app.py:44", "/srv/web.py:12"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    place.stdout("flame run.hst -o out.folded");
    assert!(file(&place.path("out.folded")).contains("Server.serve;handle 700\n"));
    place.stdout("convert run.hst --to speedscope -o out.json");
    let speedscope: Value = serde_json::from_str(&file(&place.path("out.json"))).unwrap();
    let frames = speedscope["shared"]["frames"].as_array().unwrap();
    assert!(frames.iter().any(|frame| frame["name"] == "handle" && frame["line"] == 44), "{frames:?}");
    for to in ["pprof", "otlp"] {
        place.stdout(&format!("convert run.hst --to {to} -o out"));
        let bytes = std::fs::read(place.path("out")).unwrap();
        let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        assert!(has("Server.serve") && has("/srv/web.py") && !has("interpreted:"), "{to}");
    }
    let dump = place.stdout("dump run.hst");
    for line in ["function F1 python Server.serve /srv/web.py:10", "stack S8 F2:44 caller=S7"] {
        assert!(dump.contains(line), "{line}: {dump}");
    }
}

#[test]
fn names_are_hidden_with_the_others() {
    let place = Place::with_trace(&sample::interpreted());
    place.stdout("redact run.hst -o hidden.hst");
    let dump = place.stdout("dump hidden.hst");
    assert!(dump.contains("stack S8 F2:44 caller=S7"), "{dump}");
    assert!(!dump.contains("handle") && !dump.contains("app.py"), "{dump}");
}
