//! Source files: which are opened, and what of them is sent.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::client::{Place, serve, serve_source};

const TEXT: &str = "1\n2\n3\n4\n5\n6\n<script>alert(1)</script> \u{202e}\n8\n";

/// The number of a function in questions.
fn number(place: &Place, name: &str) -> u64 {
    let table = place.json("api/functions?show=allocated");
    let names = table["name"].as_array().unwrap();
    let at = names.iter().position(|of| of == name).unwrap();
    table["function"][at].as_u64().unwrap()
}

fn source(place: &Place, query: &str) -> Value {
    place.json(&format!("api/source?function={}&{query}", number(place, "load")))
}

/// Runs with a folder that has the source file.
fn with_file(of: impl FnOnce(&Path, &Place)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.c");
    fs::write(&path, TEXT).unwrap();
    serve_source(path.to_str().unwrap(), |place| of(&path, place));
}

#[test]
fn each_line_has_what_was_allocated_through_it() {
    with_file(|path, place| {
        let shown = source(place, "show=allocated");
        assert_eq!((&shown["function"], &shown["file"]), (&json!("load"), &json!(path.to_str().unwrap())));
        assert_eq!((&shown["at"], &shown["first"], &shown["lines"]), (&json!(7), &json!(1), &json!(8)));
        // All functions are on this line: a stack that goes through it twice counts once.
        assert_eq!((&shown["line"], &shown["bytes"]), (&json!([7]), &json!([14_564])));
        assert_eq!(
            (&shown["own_bytes"], &shown["blocks"], &shown["own_blocks"]),
            (&json!([14_564]), &json!([5]), &json!([5]))
        );
        // Whatever is in it is text.
        assert_eq!(shown["text"][6], "<script>alert(1)</script> \u{202e}");
        let note = shown["note"].as_str().unwrap();
        assert!(note.starts_with("The file was changed after the recording began"), "{note}");
        // Of a part of the blocks, by another line.
        let shown = source(place, "show=live&at=7000000&process=0&line=2");
        assert_eq!((&shown["bytes"], &shown["at"]), (&json!([564]), &json!(2)));
        assert_eq!(shown["total"], json!({ "blocks": 2, "bytes": 564 }));
        assert_eq!(source(place, "show=freed&with=parse")["bytes"], json!([3_000]));
    });
}

#[test]
fn no_request_opens_a_file_that_the_recording_does_not_name() {
    with_file(|_, place| {
        for (path, status) in [
            ("api/source", 404),
            ("api/source?function=4000000000", 404),
            ("api/source?function=../../etc/passwd", 400),
            ("api/source?file=/etc/passwd", 400),
            ("api/source?function=1&path=/etc/passwd", 400),
            ("api/source/../../../../etc/passwd", 404),
            ("api/source?function=-1", 400),
        ] {
            let answer = place.get(path);
            assert_eq!(answer.status, status, "{path}: {answer:?}");
            assert!(!answer.body.contains("root:"), "{answer:?}");
        }
        // A process, which is in no file, has no lines.
        let no_lines = place.json(&format!("api/source?function={}", number(place, "app (pid 100)")));
        assert_eq!((&no_lines["file"], &no_lines["text"]), (&Value::Null, &json!([])));
    });
}

#[test]
fn what_stands_where_the_file_was_is_not_opened() {
    with_file(|path, place| {
        let check = |expected: &str| {
            let shown = source(place, "show=allocated");
            assert_eq!(shown["note"], format!("The file cannot be shown: {expected}."));
            assert_eq!((&shown["text"], &shown["bytes"]), (&json!([]), &json!([14_564])));
        };
        fs::remove_file(path).unwrap();
        check("it is not on this machine");
        std::os::unix::fs::symlink("/etc/passwd", path).unwrap();
        check("it is no regular file");
        fs::remove_file(path).unwrap();
        let (fifo, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
        rustix::fs::mknodat(rustix::fs::CWD, path, fifo, mode, 0).unwrap();
        check("it is no regular file");
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
        check("it is no regular file");
    });
    serve(|place| {
        let note = source(place, "show=allocated")["note"].as_str().unwrap().to_owned();
        assert!(note.ends_with("does not say in which folder it is."), "{note}");
    });
}
