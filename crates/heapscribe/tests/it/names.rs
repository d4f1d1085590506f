//! Names and lines in all that shows stacks, from a program that is compiled here.

use std::path::Path;
use std::process::Command;

use object::{Object, ObjectSymbol};

use crate::sample;
use crate::see::{Place, file};

const SOURCE: &str = "int helper(int n) { return n + 1; }\nint main(void) {\n    return helper(1);\n}\n";

/// A trace of the program, its stack the first byte of `main`.
fn trace_of(program: &Path) -> Vec<u8> {
    let source = program.with_file_name("tool.c");
    std::fs::write(&source, SOURCE).unwrap();
    let cc = Command::new("cc").args(["-g", "-O0", "-Wl,--build-id", "-o"]).arg(program).arg(source).status();
    assert!(cc.unwrap().success());
    let bytes = std::fs::read(program).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    let main = object.symbols().find(|s| s.name() == Ok("main")).unwrap().address();
    sample::one_frame(program.to_str().unwrap(), object.build_id().unwrap().unwrap(), main + 1)
}

#[test]
fn text_json_and_pictures_have_them() {
    let dir = tempfile::tempdir().unwrap();
    let place = Place::with_trace(&trace_of(&dir.path().join("tool")));
    let text = place.stdout("report run.hst --full");
    let line =
        text.lines().find(|line| line.trim_start().starts_with("main ") && line.contains("/tool.c")).unwrap();
    assert!(line.ends_with("/tool.c:2"), "{line}");
    let json: serde_json::Value = serde_json::from_str(&place.stdout("report run.hst --json")).unwrap();
    let frame = &json["stacks"][0]["frames"][0];
    assert_eq!((frame["function"].as_str(), frame["line"].as_u64()), (Some("main"), Some(2)));
    place.stdout("flame run.hst -o out.folded");
    assert_eq!(file(&place.path("out.folded")), "main 5\n");
}

#[test]
fn a_program_that_was_built_again_gives_no_names() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("tool");
    let place = Place::with_trace(&trace_of(&program));
    std::fs::copy("/bin/true", &program).unwrap();
    let text = place.stdout("report run.hst --full");
    assert!(text.contains("/tool has changed since the recording."), "{text}");
    assert!(text.contains("      tool+0x"), "{text}");
}

#[test]
fn a_bundle_names_what_is_not_there_any_more() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("tool");
    let place = Place::with_trace(&trace_of(&program));
    let commands = ["report run.hst --full", "report run.hst --json", "report run.hst", "hotspots run.hst"];
    let before = commands.map(|command| place.stdout(command));
    let (code, _, said) = place.all("symbols run.hst -o run.symbols");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("run.symbols: names of 1 address in 1 file"), "{said}");
    std::fs::remove_file(&program).unwrap();
    assert_ne!(place.stdout(commands[0]), before[0]);
    let after = commands.map(|command| place.stdout(&format!("{command} --symbols run.symbols")));
    assert_eq!(after, before);
    place.stdout("flame run.hst -o out.folded --symbols run.symbols");
    assert_eq!(file(&place.path("out.folded")), "main 5\n");
    let failure = place.failure("report run.symbols");
    assert!(failure.contains("error: run.symbols is a symbol bundle, not a heap trace"), "{failure}");
    let bundle_of_bundle = place.all("symbols run.hst -o again.symbols --symbols run.symbols");
    assert_eq!(bundle_of_bundle.0, Some(0));
    let read = |name| std::fs::read(place.path(name)).unwrap();
    assert_eq!(read("again.symbols"), read("run.symbols"));
}

#[test]
fn what_is_no_bundle_is_refused() {
    let place = Place::with_trace(&sample::tiny());
    std::fs::write(place.path("text"), "main\n").unwrap();
    for bundle in ["run.hst", "text"] {
        let failure = place.failure(&format!("report run.hst --symbols {bundle}"));
        assert!(failure.contains(&format!("error: {bundle} is no symbol bundle")), "{failure}");
        assert!(failure.contains("heapscribe symbols TRACE -o BUNDLE"), "{failure}");
    }
    let failure = place.failure("symbols run.hst -o run.hst --force");
    assert!(failure.contains("is both input and output"), "{failure}");
}
