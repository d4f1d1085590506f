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
