//! Dumps of a small trace, line for line.

use std::process::{Command, Stdio};

use crate::sample;
use crate::see::Place;

#[test]
fn lines() {
    insta::assert_snapshot!(Place::with_trace(&sample::trace()).stdout("dump run.hst"));
}

#[test]
fn objects() {
    let out = Place::with_trace(&sample::trace()).stdout("dump run.hst --json");
    assert!(out.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    insta::assert_snapshot!(out);
}

/// All but the frames of stacks, in each form of the lines.
#[test]
fn stacks_are_left_out_on_request() {
    let place = Place::with_trace(&sample::trace());
    let whole = place.stdout("dump run.hst");
    let is_frame = |line: &&str| line.starts_with("# P") && line.split(' ').nth(2) == Some("stack");
    let expected: Vec<&str> = whole.lines().filter(|line| !is_frame(line)).collect();
    assert!(expected.len() < whole.lines().count());
    for arguments in ["dump run.hst --no-stacks", "dump run.hst --no-stacks --style native"] {
        assert_eq!(place.stdout(arguments).lines().collect::<Vec<_>>(), expected, "{arguments}");
    }
    assert!(!place.stdout("dump run.hst --no-stacks --json").contains("\"type\":\"stack\""));
}

#[test]
fn rates_say_what_they_mean() {
    let place = Place::with_trace(&sample::sampled());
    let rates = |arguments| {
        let is_rate = |line: &&str| line.contains("% ") || line.contains("rate");
        place.stdout(arguments).lines().filter(is_rate).map(|line| line.to_owned() + "\n").collect::<String>()
    };
    insta::assert_snapshot!(rates("dump run.hst") + &rates("dump run.hst --json"));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let place = Place::with_trace(&sample::trace());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Command::new(assert_cmd::cargo::cargo_bin("heapscribe"))
        .args(["dump", "run.hst"])
        .current_dir(place.path("run.hst").parent().unwrap())
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}
