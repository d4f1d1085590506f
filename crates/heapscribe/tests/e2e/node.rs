//! Node.js programs that write down the stack of each block as V8 says it: the trace has the same, frame by frame.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::interpreted::{Frames, interpreted_blocks, written_frame};
use crate::support::screens::holds_most;
use crate::support::{Place, Report, Run, has, skip};

/// Whether there is a Node.js whose frames are read; says so when there is none.
fn has_node() -> bool {
    let said = has("node").then(|| Command::new("node").arg("--version").output().unwrap().stdout);
    let version = said.map(|said| String::from_utf8(said).unwrap()).unwrap_or_default();
    let is_known = [18, 20, 22, 24, 25].iter().any(|known| version.starts_with(&format!("v{known}.")));
    if !is_known {
        skip(format_args!("there is no Node.js 18 to 25 (apt-get install nodejs)"));
    }
    is_known
}

fn recorded<'a>(place: &'a Place, arguments: &[&str]) -> Run<'a> {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    Run::new(place, "node").args(arguments.iter().map(|argument| match Path::new(argument).extension() {
        Some(_) => programs.join(argument).into_os_string(),
        None => argument.into(),
    }))
}

/// V8 names a function with the object that it is called on, or by what it is a property of.
fn is_same_name(recorded: &str, expected: &str) -> bool {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    expected.is_empty() || last(recorded) == last(expected) || recorded.starts_with("(")
}

/// A frame may have no line; those are counted.
fn is_same(recorded: &Frames, expected: &Frames) -> bool {
    let pairs = recorded.iter().zip(expected);
    recorded.len() == expected.len()
        && pairs.into_iter().all(|(recorded, expected)| {
            recorded.1 == expected.1
                && (recorded.2 == expected.2 || recorded.2 == 0)
                && is_same_name(&recorded.0, &expected.0)
        })
}

/// How many frames there were, and how many of them have no line.
fn check_frames(program: &str, options: &[&str], rounds: &str) -> (usize, usize) {
    let place = Place::new();
    let notes = place.path("notes");
    let program = [program, rounds, notes.to_str().unwrap()];
    let run = recorded(&place, &[&["--expose-gc"], options, &program].concat());
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let text = fs::read_to_string(notes).unwrap();
    let with_file =
        |frames: Frames| -> Frames { frames.into_iter().filter(|frame| !frame.1.is_empty()).collect() };
    let blocks: HashMap<u64, Frames> = interpreted_blocks(&run.trace())
        .into_iter()
        .map(|(size, frames)| (size, with_file(frames)))
        .collect();
    let (mut frames, mut without_line) = (0, 0);
    for line in text.lines() {
        let mut parts = line.split('\t');
        let size: u64 = parts.next().unwrap().parse().unwrap();
        let expected: Frames = parts.map(written_frame).collect();
        let recorded = blocks.get(&size).unwrap_or_else(|| panic!("no frames of block {size}: {line}"));
        assert!(is_same(recorded, &expected), "block {size}\nrecorded {recorded:#?}\nexpected {expected:#?}");
        frames += recorded.len();
        without_line += recorded.iter().filter(|frame| frame.2 == 0).count();
    }
    // The collector's own: a line that cannot be read while it moves things is looked for again in the next captures.
    let unread = Report::of(&run.trace()).dropped("interpreted_frames");
    assert!(unread < 300, "{unread} stacks without their frames");
    (frames, without_line)
}

#[test]
fn all_frames_are_those_that_v8_has() {
    if !has_node() {
        return;
    }
    // Interpreted, then compiled by the baseline compiler from the first call on.
    for options in [["--no-opt", "--no-sparkplug"], ["--no-opt", "--always-sparkplug"]] {
        let (frames, without_line) = check_frames("node_frames.js", &options, "25");
        assert!(frames > 2000 && without_line == 0, "{options:?}: {without_line} of {frames}");
    }
}

/// In node 22 the scope of a module was not read, so that all that it allocates while it is evaluated had no frames.
#[test]
fn frames_of_modules_are_those_that_v8_has() {
    if !has_node() {
        return;
    }
    for options in [&[][..], &["--always-sparkplug"]] {
        let (frames, without_line) = check_frames("node_module.mjs", options, "100");
        assert!(frames > 500 && without_line == 0, "{options:?}: {without_line} of {frames}");
    }
}

#[test]
#[ignore = "takes minutes: a hundred thousand frames and more"]
fn all_frames_are_those_that_v8_has_for_long() {
    if !has_node() {
        return;
    }
    let (frames, without_line) = check_frames("node_frames.js", &["--no-opt"], "2000");
    println!("{frames} frames, {without_line} of them without a line");
    assert!(frames > 100_000);
}

/// Of code that all of V8's compilers made of the same functions, with what they have inlined, and for loops that run: since
/// V8 13, Maglev's had the line of a loop's head in place of that of a call in it.
#[test]
fn optimized_code_has_the_lines_that_v8_has() {
    if !has_node() {
        return;
    }
    for options in [&[][..], &["--no-use-osr"]] {
        let (frames, without_line) = check_frames("node_hot.js", options, "60");
        assert!(frames > 8000 && without_line == 0, "{options:?}: {without_line} of {frames}");
    }
}

/// Functions that were made where others were forgotten had the names of these, of `new Function` 52 of 8,000 and more.
#[test]
fn forgotten_functions_do_not_name_those_in_their_place() {
    if !has_node() {
        return;
    }
    let place = Place::new();
    let run = recorded(&place, &["node_fresh.js", "8000"]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let mut named = 0;
    for (size, frames) in interpreted_blocks(&run.trace()) {
        let Some(index) = size.checked_sub(40_011).filter(|rest| rest % 6 == 0).map(|rest| rest / 6) else {
            continue;
        };
        let fresh = frames.iter().map(|frame| &frame.0).find(|name| name.starts_with("fresh"));
        assert!(fresh.is_none_or(|name| *name == format!("fresh{index}")), "{fresh:?} is fresh{index}");
        named += usize::from(fresh.is_some());
    }
    assert!(named > 7000, "{named} blocks of such functions");
}

/// A function that keeps what it was sent is named on the first screen, and in the flame graph: without a switch.
#[test]
fn a_leak_is_named_by_its_line() {
    if !has_node() {
        return;
    }
    let place = Place::new();
    let run = recorded(&place, &["leak.js"]);
    let ended = run.recorded();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let first = run.report(&[]);
    assert!(holds_most(&first).contains("loadOrder at leak.js:5"), "{first}");
    assert!(run.flame_graph("peak").contains("leak.js:5"), "no line in the flame graph");

    let native = run.options(["--no-interpreter-frames"]);
    native.recorded();
    assert!(interpreted_blocks(&native.trace()).is_empty());
}
